#pragma once

#include <cstdint>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// True when a hunk may mean another of several equal lines that stand next to each other.
///
/// Such lines, changed or next to a change, are known by their number alone: the hunk as it was
/// written must have as many as the file. Lines are equal that differ in blanks only.
///
/// `made`: the hunk with the lines of the file, at its line number. `stated`: as it was written.
[[nodiscard]] bool may_mean_an_equal_line(const Lines& file, const Hunk& made, const Hunk& stated);

/// True when the file's line `last`, the last one of a part of a hunk, is also the one above the
/// next part, or that part's first line `next` is also the one below `last`. 0-based; -1: none.
[[nodiscard]] bool is_at_both_ends(const Lines& file, int64_t last, int64_t next);

}  // namespace galley
