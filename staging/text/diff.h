#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// Lines [old_begin, old_end) of the old text become lines [new_begin, new_end) of the new one.
struct ChangedRange {
  uint32_t old_begin = 0;
  uint32_t old_end = 0;
  uint32_t new_begin = 0;
  uint32_t new_end = 0;

  [[nodiscard]] uint32_t removed() const { return old_end - old_begin; }
  [[nodiscard]] uint32_t added() const { return new_end - new_begin; }
  bool operator==(const ChangedRange&) const = default;
};

/// Every changed range of a pair of texts, in order.
///
/// Invariant: at least one unchanged line is between two ranges. Between ranges both texts have the
///            same number of lines, and these are equal under the chosen WhiteSpace.
using EditScript = std::vector<ChangedRange>;

struct LineDiffOptions {
  WhiteSpace white_space = WhiteSpace::kExact;
  /// If a range fits in several places, move it to where people expect it (git's default).
  bool indent_heuristic = true;
};

/// The lines that must change to turn `before` into `after`.
///
/// Minimal while that is cheap; then the search is bounded, so that no input is slow. First common
/// ends are trimmed, lines are interned and one-sided lines dropped (all exact). Then follows
/// Myers' middle snake in linear space [1] with a work budget. When the budget is used up, lines
/// that are unique on both sides anchor the rest (patience [2]); without such lines, the furthest
/// reaching path splits it (as in GNU diff). Ties are broken as in git.
/// [1] E. Myers, An O(ND) Difference Algorithm and Its Variations, Algorithmica 1 (1986).
/// [2] B. Cohen, Patience Diff, 2010; longest increasing subsequence as in A. Schensted, 1961.
[[nodiscard]] EditScript diff_lines(const Lines& before, const Lines& after,
                                    const LineDiffOptions& options = {});

/// The same over numbers, which are equal exactly when the items are equal. A range that fits in
/// several places ends as late as possible.
[[nodiscard]] EditScript diff_ids(const std::vector<LineId>& before,
                                  const std::vector<LineId>& after);

/// A script from elsewhere, with every range moved to where diff_ids would put it.
[[nodiscard]] EditScript slide_script(const std::vector<LineId>& before,
                                      const std::vector<LineId>& after, const EditScript& script);

/// Lines removed and added by a script.
struct LineCounts {
  uint64_t removed = 0;
  uint64_t added = 0;
  bool operator==(const LineCounts&) const = default;
};
[[nodiscard]] LineCounts count_lines(const EditScript& script);

/// Changed ranges that are shown together, with the unchanged lines around them.
struct HunkSpan {
  size_t first_change = 0;  ///< [first_change, last_change) of the script
  size_t last_change = 0;
  uint32_t old_begin = 0;  ///< lines shown, including context, counted from 0
  uint32_t old_end = 0;
  uint32_t new_begin = 0;
  uint32_t new_end = 0;

  bool operator==(const HunkSpan&) const = default;
};

/// Groups a script into hunks with `context` lines around each. Ranges share a hunk if their
/// distance is at most twice the context plus `between` (git's rule).
[[nodiscard]] std::vector<HunkSpan> group_hunks(const EditScript& script, size_t old_lines,
                                                size_t new_lines, uint32_t context,
                                                uint32_t between = 0);

}  // namespace galley
