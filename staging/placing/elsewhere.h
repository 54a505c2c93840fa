#pragma once

#include <cstdint>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// True if the file has a context line of the hunk, but not around the lines [begin, end), which
/// were found for the hunk's other lines. Then the hunk probably means the place of that line,
/// whose other lines have changed since. `change` is the file's line of the first change.
///
/// A line around the place is on the side that the hunk says, and not in another block unless the
/// hunk leaves a block, too. White space may differ.
[[nodiscard]] bool points_elsewhere(FileIndex& index, const Hunk& hunk, int64_t begin, int64_t end,
                                    int64_t change);

}  // namespace galley
