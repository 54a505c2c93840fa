#include "staging/overlay/elided_lines.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "staging/placing/mend.h"
#include "staging/text/fold.h"

// Why such lines are refused:
//
// A model writes "// ... existing code ..." for lines that shall stay. If the line were written as
// it is, those lines would be lost, or a file would have a comment that means nothing. What was
// left out is known only to the model.

namespace galley {
namespace {

/// True if `text` is one of the words of `list`, which are between blanks.
bool is_one_of(std::string_view text, std::string_view list) {
  return !text.empty() && list.find(" " + std::string(text) + " ") != std::string_view::npos;
}

/// Code that begins with `#`. `text` is the text after it.
bool is_directive(std::string_view text) {
  const std::string_view after = trim(text);
  const std::string_view word = after.substr(0, after.find_first_of(" \t(<\""));
  return is_one_of(word, " include define undef ifdef ifndef elif endif pragma ") ||
         (text.starts_with(word) && is_one_of(word, " if else error warning import line region "));
}

bool is_line_comment(std::string_view line) {
  const std::string_view text = trim(line);
  for (const std::string_view mark : {"//", "/*", "{/*", "<!--", ";;", "-- ", "; ", "% ", "*/"}) {
    if (text.starts_with(mark)) return true;
  }
  if (text == "*" || text.starts_with("* ")) return true;
  // "##" begins a heading of Markdown.
  return text.starts_with('#') && !text.starts_with("##") && !text.starts_with("#!") &&
         !text.starts_with("#[") && !is_directive(text.substr(1));
}

/// The words of a comment, without its marks and dots.
std::string comment_words(std::string_view line) {
  return to_lower(trim(line, " \t\r\n/*#<>!-;%{}()[].,:\xE2\x80\xA6"));
}

bool begins_with_dots(std::string_view line) {
  const std::string_view text = trim(line, " \t\r\n/*#<!-;%{([");
  return text.starts_with("...") || text.starts_with("\xE2\x80\xA6");
}

template <size_t kCount>
bool has_one_of(std::string_view text, const std::array<std::string_view, kCount>& phrases) {
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view phrase) {
    return text.find(phrase) != std::string_view::npos;
  });
}

/// True if the text has only words with which elisions are written.
bool has_only_words_of_elisions(std::string_view text) {
  constexpr std::string_view kWords =
      " a above all and are as before body brevity class code content etc existing file for "
      "function functions here implementation imports in is keep left lines logic method methods "
      "module no not of omitted original other out previous remain remaining remains rest same "
      "shown stay stays tests the this unchanged unmodified was with your ";
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \t,.;:()-/"), text.size());
    if (end > 0 && !is_one_of(text.substr(0, end), kWords)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

/// Whether a line can be a comment or begin with dots. Few lines of code pass this check of one
/// character.
bool may_stand_for_lines(std::string_view line) {
  const auto* first = std::find_if_not(line.begin(), line.end(), is_space);
  constexpr std::string_view kFirst = "/*#<!-;%{([.\xE2";
  return first != line.end() && kFirst.find(*first) != std::string_view::npos;
}

/// True for a comment that consists of dots.
bool is_comment_of_dots(std::string_view line) {
  return may_stand_for_lines(line) && is_line_comment(line) && begins_with_dots(line) &&
         comment_words(line).empty();
}

bool is_in(std::string_view file, std::string_view line) {
  return file.find(trim(line)) != std::string_view::npos;
}

tl::unexpected<Error> left_out(const RelPath& path, const char* reason, std::string_view line) {
  constexpr size_t kMostQuoted = 60;
  return fail(ErrorKind::kRefused, reason,
              "'" + path.str() + "': the new text has '" +
                  std::string(trim(line).substr(0, kMostQuoted)) +
                  "' in place of lines, and they would be lost; send those lines, or an edit of "
                  "the changed lines alone",
              path.str());
}

/// The first line of `added` that stands for lines, if neither the file nor `old_text` has it.
std::optional<std::string_view> elided_line(std::string_view file, std::string_view old_text,
                                            std::string_view added) {
  const Lines lines(added);
  const size_t old_count = static_cast<size_t>(std::count(old_text.begin(), old_text.end(), '\n'));
  const bool is_shorter = lines.size() <= old_count;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!stands_for_lines(lines[i]) && !(is_shorter && is_comment_of_dots(lines[i]))) continue;
    if (!is_in(old_text, lines[i]) && !is_in(file, lines[i])) return lines[i];
  }
  return std::nullopt;
}

/// The lines of one difference, or of several with only blank lines and brackets between them.
struct Replaced {
  size_t code_removed = 0;
  size_t comments = 0;  ///< new, and not a removed line that became a comment
  bool adds_code = false;
  size_t first_comment = 0;

  [[nodiscard]] bool loses_lines() const { return comments > 0 && !adds_code && code_removed > 1; }
};

void add_range(const Lines& before, const Lines& after, const ChangedRange& range, Replaced& out) {
  std::string removed;
  for (size_t i = range.old_begin; i < range.old_end; ++i) {
    if (!is_telling_line(before[i]) || is_line_comment(before[i])) continue;
    ++out.code_removed;
    removed += before[i];
  }
  for (size_t i = range.new_begin; i < range.new_end; ++i) {
    if (!is_line_comment(after[i])) {
      out.adds_code = out.adds_code || is_telling_line(after[i]);
      continue;
    }
    const std::string_view text = trim(after[i], " \t\r\n/*#<>!-;%{}");
    if (text.empty() || removed.find(text) != std::string::npos) continue;
    if (++out.comments == 1) out.first_comment = i;
  }
}

}  // namespace

bool stands_for_lines(std::string_view line) {
  static constexpr std::array<std::string_view, 13> kSays = {
      "existing",  "rest of",       "unchanged",     "remain",          "omitted",
      "same as",   "previous code", "original code", "other functions", "other methods",
      "no change", "as before",     "unmodified"};
  static constexpr std::array<std::string_view, 9> kSaysAlone = {
      "existing code",   "rest of",       "unchanged",      "omitted",   "remains the same",
      "remain the same", "stay the same", "stays the same", "unmodified"};
  if (!may_stand_for_lines(line)) return false;
  const bool is_comment = is_line_comment(line);
  if (!is_comment && !begins_with_dots(line)) return false;
  const std::string words = comment_words(line);
  const bool has_dots = begins_with_dots(line) && has_one_of(words, kSays);
  const bool is_alone = has_one_of(words, kSaysAlone) && has_only_words_of_elisions(words);
  if (is_comment) return has_dots || is_alone;
  return has_dots && is_alone && trim(line).ends_with("...") && trim(line).starts_with("...");
}

std::optional<size_t> comment_for_lines(const Lines& before, const Lines& after,
                                        const std::vector<ChangedRange>& changed) {
  Replaced run;
  for (size_t k = 0; k < changed.size(); ++k) {
    bool goes_on = k > 0;
    for (size_t i = k > 0 ? changed[k - 1].old_end : 0; goes_on && i < changed[k].old_begin; ++i) {
      goes_on = !is_telling_line(before[i]);
    }
    if (!goes_on) run = Replaced();
    Replaced alone;
    add_range(before, after, changed[k], alone);
    add_range(before, after, changed[k], run);
    if (alone.loses_lines()) return alone.first_comment;
    if (run.loses_lines()) return run.first_comment;
  }
  return std::nullopt;
}

Result<void> check_content(const RelPath& path, std::string_view file, std::string_view content) {
  const auto line = elided_line(file, file, content);
  return line ? left_out(path, "patch.part_of_file", *line) : Result<void>();
}

Result<void> check_added_lines(const RelPath& path, std::string_view file, const FileEdit& edit) {
  for (const TextEdit& text : edit.text_edits) {
    if (const auto line = elided_line(file, text.old_text, text.new_text)) {
      return left_out(path, "patch.doubtful_lines", *line);
    }
  }
  const auto is_elided = [](const HunkLine& line) {
    return line.role == LineRole::kAdded &&
           (stands_for_lines(line.text) || is_comment_of_dots(line.text));
  };
  for (const Hunk& hunk : edit.hunks) {
    if (std::none_of(hunk.lines.begin(), hunk.lines.end(), is_elided)) continue;
    std::string old_text;
    std::string added;
    for (const HunkLine& line : hunk.lines) {
      if (line.role != LineRole::kAdded) old_text += line.text;
      if (line.role != LineRole::kRemoved) added += line.text;
    }
    if (const auto line = elided_line(file, old_text, added)) {
      return left_out(path, "patch.doubtful_lines", *line);
    }
  }
  return {};
}

}  // namespace galley
