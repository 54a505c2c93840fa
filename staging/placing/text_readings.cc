#include "staging/placing/text_readings.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/placing/damage.h"
#include "staging/text/diff.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

bool has_numbered_line(std::string_view text) {
  const Lines lines(text);
  uint64_t number = 0;
  size_t k = 0;
  while (k < lines.size() && number_length(lines[k], number) == 0) ++k;
  return k < lines.size();
}

bool share_a_line(std::string_view one, std::string_view other) {
  const Lines lines(one);
  const Lines others(other);
  for (size_t k = 0; k < lines.size(); ++k) {
    for (size_t i = 0; i < others.size(); ++i) {
      if (lines[k] == others[i] && is_telling_line(lines[k])) return true;
    }
  }
  return false;
}

/// Reads an edit without the line numbers of a listing, in each form that all its lines have. The
/// new text has such numbers on all lines or on none. If lines of the file begin with a number,
/// too, a line that stays shows which.
std::vector<TextReading> without_numbers(const TextEdit& edit) {
  std::vector<TextReading> out;
  const bool has_number = has_numbered_line(edit.new_text);
  for (const std::string_view separator : kNumberSeparators) {
    uint64_t first = 0;
    uint64_t first_new = 0;
    auto old_text = without_listing(edit.old_text, separator, first);
    if (!old_text) continue;
    auto new_text = without_listing(edit.new_text, separator, first_new);
    if (first_new != first) new_text.reset();
    std::string as_sent(edit.new_text);
    if (!has_number) {
      new_text = std::move(as_sent);
    } else if (has_numbered_line(*old_text)) {
      const bool is_numbered = new_text && share_a_line(*old_text, *new_text);
      if (is_numbered == share_a_line(*old_text, as_sent)) continue;
      if (!is_numbered) new_text = std::move(as_sent);
    }
    if (!new_text) continue;
    out.push_back({*std::move(old_text), *std::move(new_text), first, "numbered_lines",
                   "the lines have line numbers before them; they were read without"});
  }
  return out;
}

/// Reads an edit that is escaped as a whole, as in HTML, if the file has nothing that is.
std::optional<TextReading> without_escapes(std::string_view file, const TextEdit& edit) {
  for (const std::string_view entity : {"&lt;", "&gt;", "&amp;"}) {
    if (file.find(entity) != std::string_view::npos) return std::nullopt;
  }
  if (!is_escaped(edit.old_text) || !is_escaped(edit.new_text)) return std::nullopt;
  std::string old_text = without_entities(edit.old_text);
  if (old_text == edit.old_text) return std::nullopt;
  return TextReading{std::move(old_text), without_entities(edit.new_text), 0, "escaped_markup",
                     "'<', '>' and '&' are escaped as in HTML; they were read as signs"};
}

/// Reads a block with Roo's backslash before lines that look like its markers.
std::optional<TextReading> without_backslashes(const TextEdit& edit) {
  if (!edit.whole_lines) return std::nullopt;
  std::string old_text = without_escaped_marks(edit.old_text);
  if (old_text == edit.old_text) return std::nullopt;
  return TextReading{std::move(old_text), without_escaped_marks(edit.new_text), 0, "block_header",
                     "a backslash before a marker of a block was not taken for text"};
}

/// Whether the text is once in the file, before a blank line or at the end.
bool is_before_blank_line(std::string_view file, std::string_view text) {
  const size_t at = file.find(text);
  if (at == file.npos || file.find(text, at + 1) != file.npos) return false;
  const std::string_view behind = file.substr(at + text.size());
  return is_blank(behind.substr(0, behind.find('\n')), " \t\r");
}

/// Reads a block without the blank lines that both of its texts have at the end. New lines directly
/// before them could belong behind lines that the file has there, if it has no blank line there.
std::optional<TextReading> without_blanks(std::string_view file, const TextEdit& edit) {
  size_t count = 0;
  size_t count_new = 0;
  const std::string old_text(without_last_blanks(edit.old_text, count));
  const std::string new_text(without_last_blanks(edit.new_text, count_new));
  if (!edit.whole_lines || count == 0 || count != count_new) return std::nullopt;
  const Lines before(old_text);
  const EditScript script = diff_lines(before, Lines(new_text));
  const bool adds_last =
      !script.empty() && script.back().removed() == 0 && script.back().old_begin == before.size();
  if (adds_last && !is_before_blank_line(file, old_text)) return std::nullopt;
  return TextReading{old_text, new_text, 0, "blank_lines",
                     "blank lines at the end of the block are not in the file"};
}

}  // namespace

std::vector<TextReading> other_readings(std::string_view file, const TextEdit& edit) {
  std::vector<TextReading> out = without_numbers(edit);
  for (auto& reading :
       {without_escapes(file, edit), without_backslashes(edit), without_blanks(file, edit)}) {
    if (reading) out.push_back(*reading);
  }
  return out;
}

}  // namespace galley
