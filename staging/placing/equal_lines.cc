#include "staging/placing/equal_lines.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "staging/placing/elision.h"
#include "staging/text/fold.h"

namespace galley {
namespace {

std::string_view line_at(const Lines& file, int64_t line) {
  return file[static_cast<size_t>(line)];
}

/// One side of a change.
struct Edge {
  int64_t line = 0;  ///< the file's first line on this side
  int64_t like = 0;  ///< the file's line that is compared with others
  int64_t at = 0;    ///< the hunk's first line on this side
  int64_t step = 0;  ///< 1 after the change, -1 before it
};

/// Compares how many lines equal to `edge.like` follow in the file and in the hunk. Returns true if
/// the hunk shows which one is meant. `removes`: the line itself is removed, so the blanks of the
/// equal lines in the file matter, too.
bool tells_equal_lines(const Lines& file, const Hunk& stated, Edge edge, bool removes) {
  const auto size = static_cast<int64_t>(file.size());
  const auto last = static_cast<int64_t>(stated.lines.size());
  if (edge.like < 0 || edge.like >= size) return true;
  const std::string_view like = line_at(file, edge.like);
  if (!removes && is_blank(like)) return true;
  std::string one;
  std::string other;
  const std::string_view wanted = folded(like, LineFolding::kBlanks, one);
  const auto is_like = [&](std::string_view text) {
    return folded(text, LineFolding::kBlanks, other) == wanted;
  };
  int64_t in_file = 0;
  bool are_equal = true;  // byte for byte
  for (int64_t line = edge.line; line >= 0 && line < size && is_like(line_at(file, line));
       line += edge.step) {
    ++in_file;
    are_equal = are_equal && line_at(file, line) == like;
  }
  int64_t in_hunk = 0;
  int64_t at = edge.at;
  const auto text_there = [&] { return stated.lines[static_cast<size_t>(at)].text; };
  for (; at >= 0 && at < last && is_like(text_there()); at += edge.step) ++in_hunk;
  if (in_file == in_hunk || (!removes && in_hunk == 0)) return true;
  const bool ends_there = at < 0 || at >= last || is_elision(text_there());
  return in_hunk < in_file && (are_equal || !removes) && ends_there;
}

/// The groups of adjacent changed lines: index of the first line, and index after the last.
std::vector<std::pair<size_t, size_t>> changed_stretches(const Hunk& hunk) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    if (hunk.lines[i].role == LineRole::kContext) continue;
    if (out.empty() || out.back().second != i) out.emplace_back(i, i);
    out.back().second = i + 1;
  }
  return out;
}

}  // namespace

bool may_mean_an_equal_line(const Lines& file, const Hunk& made, const Hunk& stated) {
  const auto changes = changed_stretches(made);
  const auto meant = changed_stretches(stated);
  if (!made.has_numbers || changes.size() != meant.size()) return false;
  auto begin = static_cast<int64_t>(made.old_start) - 1;  // the file's line where the change begins
  size_t at = 0;
  const auto lines_until = [&](size_t end) {
    int64_t count = 0;
    for (; at < end; ++at) count += made.lines[at].role == LineRole::kAdded ? 0 : 1;
    return count;
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    begin += lines_until(changes[i].first);
    const int64_t end = begin + lines_until(changes[i].second);
    const bool removes = end > begin;
    const Edge behind = {end, removes ? end - 1 : end, static_cast<int64_t>(meant[i].second), 1};
    const Edge before = {begin - 1, removes ? begin : begin - 1,
                         static_cast<int64_t>(meant[i].first) - 1, -1};
    if (!tells_equal_lines(file, stated, behind, removes)) return true;
    if (!tells_equal_lines(file, stated, before, removes)) return true;
    begin = end;
  }
  return false;
}

bool is_split_ambiguous(const Lines& file, int64_t last, int64_t next) {
  if (last < 0 || next <= last + 1) return false;
  std::string one;
  std::string other;
  const auto are_alike = [&](int64_t a, int64_t b) {
    return folded(line_at(file, a), LineFolding::kBlanks, one) ==
           folded(line_at(file, b), LineFolding::kBlanks, other);
  };
  return are_alike(last, next - 1) || are_alike(next, last + 1);
}

}  // namespace galley
