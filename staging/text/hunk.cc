#include "staging/text/hunk.h"

#include <algorithm>

namespace galley {

std::vector<HunkSpan> group_hunks(const EditScript& script, size_t old_lines, size_t new_lines,
                                  uint32_t context, uint32_t between) {
  const uint64_t joined = uint64_t{2} * context + between;
  std::vector<HunkSpan> hunks;
  for (size_t first = 0; first < script.size();) {
    size_t last = first + 1;
    while (last < script.size() && script[last].old_begin - script[last - 1].old_end <= joined) {
      ++last;
    }
    const auto& head = script[first];
    const auto& tail = script[last - 1];
    const uint32_t lead = std::min({context, head.old_begin, head.new_begin});
    const auto trail = static_cast<uint32_t>(
        std::min({size_t{context}, old_lines - tail.old_end, new_lines - tail.new_end}));
    hunks.push_back({first, last, head.old_begin - lead, tail.old_end + trail,
                     head.new_begin - lead, tail.new_end + trail});
    first = last;
  }
  return hunks;
}

}  // namespace galley
