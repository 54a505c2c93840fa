#include "staging/printing/word_diff.h"

#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "staging/text/diff.h"
#include "staging/text/dtl_diff.h"
#include "staging/text/intern.h"

namespace galley {

namespace {

// dtl is exact and fast for the words of a few lines. For more words, its time would grow
// quadratically.
constexpr size_t kMaxWordsForDtl = 256;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    while (at < text.size() && is_plain_space(text[at])) ++at;
    const size_t begin = at;
    while (at < text.size() && !is_plain_space(text[at])) ++at;
    if (at > begin) words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

// The text from the first to the last of some words. If there are none, an empty text after the
// previous word.
std::string_view stretch(std::string_view text, const std::vector<std::string_view>& words,
                         uint32_t begin, uint32_t end) {
  const auto offset = [&](const char* at) { return static_cast<size_t>(at - text.data()); };
  if (begin == end) {
    return begin == 0 ? text.substr(0, 0)
                      : text.substr(offset(words[begin - 1].data()) + words[begin - 1].size(), 0);
  }
  const size_t first = offset(words[begin].data());
  return text.substr(first, offset(words[end - 1].data()) + words[end - 1].size() - first);
}

struct Look {
  std::string_view color;
  std::string_view open;
  std::string_view close;
};

// Appends text with marks. A mark never includes a line end.
void append_piece(std::string_view text, const Look& look, const WordDiffStyle& style,
                  std::string& out) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const auto piece = text.substr(0, newline);
    if (!piece.empty()) {
      out.append(look.color).append(look.open);
      if (style.is_printable) {
        append_printable(piece, style.color, out);
      } else {
        out += piece;
      }
      out += look.close;
      if (!look.color.empty()) out += "\033[m";
    }
    if (newline == std::string_view::npos) return;
    out.push_back('\n');
    text.remove_prefix(newline + 1);
  }
}

}  // namespace

void append_word_diff(std::string_view before, std::string_view after, const WordDiffStyle& style,
                      std::string& out) {
  const Look old_look{style.color ? "\033[31m" : "", style.brackets ? "[-" : "",
                      style.brackets ? "-]" : ""};
  const Look new_look{style.color ? "\033[32m" : "", style.brackets ? "{+" : "",
                      style.brackets ? "+}" : ""};
  if (after.empty()) return append_piece(before, old_look, style, out);
  const auto old_words = words_of(before);
  const auto new_words = words_of(after);
  LineTable table(old_words.size() + new_words.size());
  std::vector<LineId> old_ids;
  std::vector<LineId> new_ids;
  old_ids.reserve(old_words.size());
  new_ids.reserve(new_words.size());
  for (const auto word : old_words) old_ids.push_back(table.intern(word));
  for (const auto word : new_words) new_ids.push_back(table.intern(word));
  const auto script = old_ids.size() + new_ids.size() <= kMaxWordsForDtl
                          ? slide_script(old_ids, new_ids, dtl_diff(old_ids, new_ids))
                          : diff_ids(old_ids, new_ids);
  size_t shown = 0;
  for (const auto& range : script) {
    const auto removed = stretch(before, old_words, range.old_begin, range.old_end);
    const auto added = stretch(after, new_words, range.new_begin, range.new_end);
    const auto begin = static_cast<size_t>(added.data() - after.data());
    append_piece(after.substr(shown, begin - shown), {}, style, out);
    append_piece(removed, old_look, style, out);
    append_piece(added, new_look, style, out);
    shown = begin + added.size();
  }
  append_piece(after.substr(shown), {}, style, out);
}

}  // namespace galley
