#include "staging/placing/align_near.h"

#include <algorithm>

#include "staging/text/fold.h"

namespace galley {
namespace {

constexpr size_t kMaxAligned = 400;  ///< lines of the pattern; the table is quadratic
constexpr int64_t kSlack = 8;        ///< extra lines before and after the place

std::vector<std::string> folded_lines(const std::vector<std::string_view>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  std::string storage;
  for (const std::string_view line : lines)
    out.emplace_back(folded(line, LineFolding::kBlanks, storage));
  return out;
}

/// A table of (n+1) x (m+1): the lengths of the longest common subsequences of all suffixes.
std::vector<uint16_t> lcs_table(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<uint16_t> table((a.size() + 1) * (b.size() + 1), 0);
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      const size_t here = i * (b.size() + 1) + j;
      const size_t down = here + b.size() + 1;
      table[here] = a[i] == b[j] ? static_cast<uint16_t>(table[down + 1] + 1)
                                 : std::max(table[down], table[here + 1]);
    }
  }
  return table;
}

}  // namespace

NearPlace align_near(const Lines& file, const std::vector<std::string_view>& pattern,
                     int64_t start) {
  NearPlace near;
  const auto size = static_cast<int64_t>(file.size());
  const auto length = static_cast<int64_t>(pattern.size());
  near.partner.assign(pattern.size(), -1);
  const int64_t low = std::clamp<int64_t>(start - kSlack, 0, size);
  const int64_t high = std::clamp<int64_t>(start + length + kSlack, low, size);
  near.begin = static_cast<size_t>(std::clamp<int64_t>(start, 0, size));
  near.end = static_cast<size_t>(std::clamp<int64_t>(start + length, 0, size));
  if (pattern.size() > kMaxAligned) return near;
  const auto begin = static_cast<size_t>(low);
  const auto count = static_cast<size_t>(high - low);
  std::vector<std::string_view> around;
  for (size_t i = begin; i < begin + count; ++i) around.push_back(file[i]);
  const std::vector<std::string> wanted = folded_lines(pattern);
  const std::vector<std::string> there = folded_lines(around);
  const std::vector<uint16_t> table = lcs_table(wanted, there);
  for (size_t i = 0, j = 0; i < pattern.size() && j < count;) {
    const size_t here = i * (count + 1) + j;
    if (wanted[i] == there[j]) {
      near.partner[i++] = static_cast<int64_t>(begin + j++);
    } else if (table[here + count + 1] >= table[here + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  int64_t first = -1;
  int64_t last = -1;
  for (const int64_t line : near.partner) {
    if (line < 0) continue;
    if (first < 0) first = line;
    last = line;
  }
  if (first < 0) return near;
  // At both ends, count one line of the file for each unmatched line of the pattern.
  int64_t lead = 0;
  while (near.partner[static_cast<size_t>(lead)] < 0) ++lead;
  int64_t trail = 0;
  while (near.partner[pattern.size() - 1 - static_cast<size_t>(trail)] < 0) ++trail;
  near.begin = static_cast<size_t>(std::max<int64_t>(first - lead, 0));
  near.end = static_cast<size_t>(std::min<int64_t>(last + 1 + trail, size));
  return near;
}

}  // namespace galley
