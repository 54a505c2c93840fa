#pragma once

#include <cstddef>
#include <vector>

#include "staging/text/diff.h"

namespace galley {

/// Maximum number of items on both sides together. dtl is exact as long as it visits fewer than
/// 2,000,000 points, which is always true up to this number. With more items the result may be
/// neither minimal nor correct.
inline constexpr size_t kMaxDtlItems = 2800;

/// Returns the shortest edit script of two sequences by the Diff Template Library. Both sides
/// together must have at most kMaxDtlItems items. Word diffs use it, and it is the reference for
/// diff_lines() in tests.
/// Source: Wu, Manber, Myers and Miller, An O(NP) Sequence Comparison Algorithm, 1990.
[[nodiscard]] EditScript dtl_diff(const std::vector<LineId>& before,
                                  const std::vector<LineId>& after);

}  // namespace galley
