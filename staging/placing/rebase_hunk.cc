#include "staging/placing/rebase_hunk.h"

#include <algorithm>

#include "staging/text/fold.h"

namespace galley {
namespace {

constexpr size_t kMaxAligned = 400;  ///< lines a side; the table is quadratic
constexpr int64_t kSlack = 8;        ///< lines looked at beyond the pre-image's length

std::vector<std::string> folded_lines(const std::vector<std::string_view>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  std::string storage;
  for (const std::string_view line : lines)
    out.emplace_back(folded(line, LineFolding::kBlanks, storage));
  return out;
}

/// Length of common subsequences of the suffixes, as a table of (n+1) x (m+1).
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

void append_line(std::string& out, char mark, std::string_view line) {
  out.push_back(mark);
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
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
  // Unmatched lines at the ends stand for as many lines of the file.
  int64_t lead = 0;
  while (near.partner[static_cast<size_t>(lead)] < 0) ++lead;
  int64_t trail = 0;
  while (near.partner[pattern.size() - 1 - static_cast<size_t>(trail)] < 0) ++trail;
  near.begin = static_cast<size_t>(std::max<int64_t>(first - lead, 0));
  near.end = static_cast<size_t>(std::min<int64_t>(last + 1 + trail, size));
  return near;
}

std::string rebase_hunk(const Lines& file, const Hunk& hunk, const NearPlace& near) {
  std::string body;
  size_t at = near.begin;
  size_t old_count = 0;
  size_t new_count = 0;
  size_t pattern_line = 0;
  bool changes = false;
  std::vector<std::string_view> pending;
  const auto put_context_until = [&](size_t until, bool is_removed) {
    for (; at < until; ++at) {
      append_line(body, is_removed ? '-' : ' ', file[at]);
      ++old_count;
      if (!is_removed) ++new_count;
      changes = changes || is_removed;
    }
  };
  const auto put_pending = [&] {
    for (const std::string_view line : pending) {
      append_line(body, '+', line);
      ++new_count;
      changes = true;
    }
    pending.clear();
  };
  bool gap_is_removed = false;
  for (const HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded) {
      pending.push_back(line.text);
      continue;
    }
    const int64_t partner = near.partner[pattern_line++];
    if (partner < 0) {
      gap_is_removed = gap_is_removed || line.role == LineRole::kRemoved;
      continue;
    }
    // What stands in the file where unmatched removed lines were expected is replaced.
    put_context_until(static_cast<size_t>(partner), gap_is_removed);
    gap_is_removed = false;
    if (line.role == LineRole::kRemoved) {
      put_context_until(static_cast<size_t>(partner) + 1, true);
    } else {
      put_pending();
      put_context_until(static_cast<size_t>(partner) + 1, false);
    }
  }
  put_context_until(near.end, gap_is_removed);
  put_pending();
  if (!changes) return {};
  const auto range = [&](size_t start, size_t count) {
    const size_t line = count == 0 ? start : start + 1;
    return std::to_string(line) + (count == 1 ? "" : "," + std::to_string(count));
  };
  return "@@ -" + range(near.begin, old_count) + " +" + range(near.begin, new_count) + " @@\n" +
         body;
}

}  // namespace galley
