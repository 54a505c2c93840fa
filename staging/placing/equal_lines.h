#pragma once

#include <cstdint>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// True if adjacent lines of the file are equal, and the hunk may mean another of them.
///
/// If such lines are changed or next to a change, only their number shows which one is meant. So
/// the hunk as it was written must have as many of them as the file. Lines that differ only in
/// blanks count as equal.
///
/// `made` is the hunk with the lines of the file and the right line number. `stated` is the hunk as
/// it was written.
[[nodiscard]] bool may_mean_an_equal_line(const Lines& file, const Hunk& made, const Hunk& stated);

/// True if it is uncertain where a part of a hunk ends and the next one begins. `last` is the
/// file's last line of the first part, `next` the first line of the next part (0-based; -1: none).
/// Either `last` equals the line above `next`, or `next` equals the line below `last`.
[[nodiscard]] bool is_split_ambiguous(const Lines& file, int64_t last, int64_t next);

}  // namespace galley
