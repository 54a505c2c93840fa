#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// Lines [old_begin, old_end) of the old text become lines [new_begin, new_end) of the new text,
/// 0-based.
struct ChangedRange {
  uint32_t old_begin = 0;
  uint32_t old_end = 0;
  uint32_t new_begin = 0;
  uint32_t new_end = 0;

  [[nodiscard]] uint32_t removed() const { return old_end - old_begin; }
  [[nodiscard]] uint32_t added() const { return new_end - new_begin; }
  bool operator==(const ChangedRange&) const = default;
};

/// All changed ranges of a pair of texts, in order.
///
/// Invariant: at least one unchanged line is between two ranges. Between ranges, both texts have
///            the same number of lines, which are equal under the chosen WhiteSpace.
using EditScript = std::vector<ChangedRange>;

struct LineDiffOptions {
  WhiteSpace white_space = WhiteSpace::kExact;
  /// If a range fits in several places, it is moved to where people expect it (git's default).
  bool indent_heuristic = true;
};

/// Returns the lines that must change to turn `before` into `after`.
///
/// The result is minimal for most inputs. The work is limited, so that no input is slow. First,
/// common ends are trimmed, lines are interned, and lines that only one side has are dropped. These
/// steps do not change the result. As in git, some frequent lines among dropped ones are dropped,
/// too, so the result may be slightly longer. Then Myers' middle snake is searched in linear space
/// [1], with limited work. Beyond the limit, lines that are unique on both sides anchor the rest
/// (patience [2]). Without such lines, the furthest reaching path splits it (as in GNU diff). Ties
/// are broken as in git.
/// [1] E. Myers, An O(ND) Difference Algorithm and Its Variations, Algorithmica 1 (1986).
/// [2] B. Cohen, Patience Diff, 2010; longest increasing subsequence as in A. Schensted, 1961.
[[nodiscard]] EditScript diff_lines(const Lines& before, const Lines& after,
                                    const LineDiffOptions& options = {});

/// As diff_lines(), for numbers that are equal exactly if the items are equal. A range that fits in
/// several places ends as late as possible.
[[nodiscard]] EditScript diff_ids(const std::vector<LineId>& before,
                                  const std::vector<LineId>& after);

/// Returns a script with every range moved to where diff_ids() would put it.
[[nodiscard]] EditScript slide_script(const std::vector<LineId>& before,
                                      const std::vector<LineId>& after, const EditScript& script);

/// The numbers of lines that a script removes and adds.
struct LineCounts {
  uint64_t removed = 0;
  uint64_t added = 0;
  bool operator==(const LineCounts&) const = default;
};
[[nodiscard]] LineCounts count_lines(const EditScript& script);

/// Changed ranges that are shown together, with unchanged lines around them.
struct HunkSpan {
  size_t first_change = 0;  ///< [first_change, last_change) of the script
  size_t last_change = 0;
  uint32_t old_begin = 0;  ///< lines shown, with context, 0-based
  uint32_t old_end = 0;
  uint32_t new_begin = 0;
  uint32_t new_end = 0;

  bool operator==(const HunkSpan&) const = default;
};

/// Groups a script into hunks with `context` unchanged lines on each side. As in git, two ranges
/// share a hunk if their distance is at most twice the context plus `between`.
[[nodiscard]] std::vector<HunkSpan> group_hunks(const EditScript& script, size_t old_lines,
                                                size_t new_lines, uint32_t context,
                                                uint32_t between = 0);

}  // namespace galley
