#include "engine/validators/added_lines.h"

#include "staging/text/diff.h"

namespace galley {

std::vector<LineBlock> added_lines(std::string_view before, const Lines& after) {
  if (after.empty() || before == after.text()) return {};
  if (before.empty()) return {{0, static_cast<uint32_t>(after.size())}};
  std::vector<LineBlock> blocks;
  for (const ChangedRange& range : diff_lines(Lines(before), after)) {
    if (range.added() > 0) blocks.push_back({range.new_begin, range.new_end});
  }
  return blocks;
}

}  // namespace galley
