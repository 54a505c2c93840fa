#include "staging/placing/line_ends.h"

#include "staging/placing/hunk_text.h"
#include "staging/text/lines.h"

namespace galley {

std::string_view line_end_near(std::string_view file, size_t offset) {
  size_t newline = file.find('\n', offset);
  if (newline == std::string_view::npos && offset > 0) newline = file.rfind('\n', offset - 1);
  if (newline == std::string_view::npos) return "\n";
  const bool has_return = newline > 0 && file[newline - 1] == '\r';
  return has_return ? file.substr(newline - 1, 2) : file.substr(newline, 1);
}

std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                              std::string_view text) {
  const size_t end = offset + length;
  const bool follows = length == 0 && offset > 0 && file[offset - 1] == '\n';
  size_t like = follows ? offset - 1 : offset;
  std::string_view line_end = line_end_near(file, like);
  std::string out;
  out.reserve(text.size());
  const Lines lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    out += without_terminator(lines[i]);
    if (!lines[i].ends_with('\n')) break;
    out += line_end;
    const size_t newline = like < end ? file.find('\n', like) : std::string_view::npos;
    if (newline == std::string_view::npos || newline + 1 >= end) continue;
    like = newline + 1;
    line_end = line_end_near(file, like);
  }
  return out;
}

bool changes_line_ends(std::string_view old_text, std::string_view new_text) {
  const Lines before(old_text);
  const Lines after(new_text);
  Hunk all;
  for (size_t i = 0; i < before.size(); ++i) all.lines.push_back({LineRole::kRemoved, before[i]});
  for (size_t i = 0; i < after.size(); ++i) all.lines.push_back({LineRole::kAdded, after[i]});
  return changes_line_ends(all);
}

}  // namespace galley
