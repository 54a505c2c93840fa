#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/text/diff.h"

namespace galley {

/// Changed ranges that are shown together with the unchanged lines around them.
struct HunkSpan {
  size_t first_change = 0;  ///< [first_change, last_change) of the script
  size_t last_change = 0;
  uint32_t old_begin = 0;  ///< lines shown, context included, counted from 0
  uint32_t old_end = 0;
  uint32_t new_begin = 0;
  uint32_t new_end = 0;

  bool operator==(const HunkSpan&) const = default;
};

/// Groups a script into hunks with `context` lines around each: ranges whose distance is at most
/// twice the context plus `between` share a hunk (git's rule).
[[nodiscard]] std::vector<HunkSpan> group_hunks(const EditScript& script, size_t old_lines,
                                                size_t new_lines, uint32_t context,
                                                uint32_t between = 0);

}  // namespace galley
