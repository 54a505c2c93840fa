#include "staging/placing/long_text.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"

namespace galley {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The word after `<<`, `<<-` or `<<~`, perhaps in quotes, at the start of `text`; else empty.
std::string_view heredoc_word(std::string_view text) {
  if (!text.starts_with("<<")) return {};
  text.remove_prefix(2);
  if (text.starts_with('-') || text.starts_with('~')) text.remove_prefix(1);
  if (text.starts_with('\'') || text.starts_with('"')) text.remove_prefix(1);
  size_t end = 0;
  while (end < text.size() && is_word_char(text[end])) ++end;
  return text.substr(0, end);
}

/// The byte after a text in quotes that begins at `at` and ends in this line; npos if none ends.
size_t quoted_end(std::string_view line, size_t at) {
  for (size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == line[at]) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

using State = LongTexts::State;
using LastLines = std::unordered_map<std::string_view, size_t>;

/// The state after a line. `at`: the line's number in the file, or the number of the next line that
/// is there.
State state_after(State state, std::string_view line, size_t at, const LastLines& last_lines) {
  if (state.is_heredoc) return trimmed(without_terminator(line)) == state.end ? State() : state;
  // Once no quote ends a text in the line, each later one of its kind has a backslash.
  bool is_double_open = false;
  bool is_single_open = false;
  for (size_t i = 0; i < line.size();) {
    const std::string_view rest = line.substr(i);
    if (!state.end.empty()) {
      const size_t close = rest.find(state.end);
      if (close == std::string_view::npos) return state;
      i += close + state.end.size();
      state = {};
    } else if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) {
      state.end = rest.substr(0, 3);
      i += 3;
    } else if (rest.front() == '"' || rest.front() == '\'') {
      bool& is_open = rest.front() == '"' ? is_double_open : is_single_open;
      const size_t end = is_open ? std::string_view::npos : quoted_end(line, i);
      is_open = end == std::string_view::npos;
      i = is_open ? i + 1 : end;
    } else if (const std::string_view word = heredoc_word(rest); !word.empty()) {
      const auto last = last_lines.find(word);
      if (last == last_lines.end() || last->second <= at) return state;
      return {word, true};
    } else {
      ++i;
    }
  }
  return state;
}

}  // namespace

LongTexts::LongTexts(const Lines& file) {
  for (size_t i = 0; i < file.size(); ++i) last_[trimmed(without_terminator(file[i]))] = i;
  State state;
  for (size_t i = 0; i < file.size(); ++i) {
    const State next = state_after(state, file[i], i, last_);
    if (!(next == state)) changes_.emplace_back(i + 1, next);
    state = next;
  }
}

bool LongTexts::is_added_to(const Hunk& hunk, int64_t start) const {
  auto at = static_cast<size_t>(start);
  const auto after =
      std::upper_bound(changes_.begin(), changes_.end(), at,
                       [](size_t line, const auto& change) { return line < change.first; });
  State state = after == changes_.begin() ? State() : std::prev(after)->second;
  for (const HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded && !state.end.empty()) return true;
    if (line.role != LineRole::kRemoved) state = state_after(state, line.text, at, last_);
    if (line.role != LineRole::kAdded) ++at;
  }
  return false;
}

}  // namespace galley
