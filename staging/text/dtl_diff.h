#pragma once

#include <cstddef>
#include <vector>

#include "staging/text/diff.h"

namespace galley {

/// dtl is exact while it visits fewer than 2,000,000 points, which is always true below this number
/// of items on both sides together. Above it the result may be neither minimal nor correct.
inline constexpr size_t kMaxDtlItems = 2800;  ///< items on both sides of a diff by words

/// The shortest edit script of two sequences by the Diff Template Library (Wu, Manber, Myers and
/// Miller, An O(NP) Sequence Comparison Algorithm, 1990). It compares the words of a line, and is
/// the reference for diff_lines in tests. Both sides together have at most kMaxDtlItems items.
[[nodiscard]] EditScript dtl_diff(const std::vector<LineId>& before,
                                  const std::vector<LineId>& after);

}  // namespace galley
