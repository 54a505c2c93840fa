#include "staging/placing/line_ends.h"

#include <string>
#include <vector>

#include "staging/placing/hunk_text.h"
#include "staging/text/diff.h"
#include "staging/text/lines.h"

namespace galley {

std::string_view line_end_near(std::string_view file, size_t offset) {
  size_t newline = file.find('\n', offset);
  if (newline == std::string_view::npos && offset > 0) newline = file.rfind('\n', offset - 1);
  if (newline == std::string_view::npos) return "\n";
  const bool has_return = newline > 0 && file[newline - 1] == '\r';
  return has_return ? file.substr(newline - 1, 2) : file.substr(newline, 1);
}

namespace {

std::string without_returns(const Lines& lines) {
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    out += without_terminator(lines[i]);
    if (lines[i].ends_with('\n')) out.push_back('\n');
  }
  return out;
}

/// For each new line, the number of old lines up to and with the one that it keeps, replaces or
/// follows.
std::vector<size_t> lines_alike(const Lines& before, const Lines& after) {
  std::vector<size_t> out;
  size_t old_at = 0;
  const std::string one = without_returns(before);
  const std::string other = without_returns(after);
  for (const ChangedRange& range : diff_lines(Lines(one), Lines(other))) {
    while (out.size() < range.new_begin) out.push_back(++old_at);
    while (out.size() < range.new_end) {
      if (old_at < range.old_end) ++old_at;
      out.push_back(old_at);
    }
    old_at = range.old_end;
  }
  while (out.size() < after.size()) out.push_back(++old_at);
  return out;
}

}  // namespace

std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                              std::string_view text) {
  const Lines before(file.substr(offset, length));
  const Lines after(text);
  const std::vector<size_t> alike = lines_alike(before, after);
  const bool follows = offset > 0 && file[offset - 1] == '\n';
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < after.size(); ++i) {
    out += without_terminator(after[i]);
    if (!after[i].ends_with('\n')) break;
    const size_t above = follows ? offset - 1 : offset;
    out += line_end_near(file, alike[i] > 0 ? offset + before.offset(alike[i] - 1) : above);
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
