#pragma once

#include <cstddef>
#include <vector>

#include "staging/text/diff.h"

namespace galley {

/// dtl is exact while it visits fewer than 2,000,000 points, which it always does below this many
/// items on both sides together; above it may be neither minimal nor right.
inline constexpr size_t kMaxDtlItems = 2800;

/// The shortest edit script of two sequences by the Diff Template Library (Wu, Manber, Myers and
/// Miller, An O(NP) Sequence Comparison Algorithm, 1990): the words of a line, and the judge of
/// diff_lines in tests. Both sides together have at most kMaxDtlItems items.
[[nodiscard]] EditScript dtl_diff(const std::vector<LineId>& before,
                                  const std::vector<LineId>& after);

}  // namespace galley
