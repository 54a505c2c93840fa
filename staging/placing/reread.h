#pragma once

#include <string>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// Returns the correction (correction_of) of a hunk that has one of these mistakes:
///
/// - A context line has other words than the only similar line of the file, or a comment at its
///   end. The correction has the line of the file. If at least two context lines are in the file
///   only without their HTML escapes, the whole hunk is read without escapes.
/// - An elision (`...`) is between lines of different blocks. The correction has only the part with
///   the changes. All lines of this part must be at one place of the file, the other parts above
///   and below it, and the part must show that it is not in the block above it.
///
/// Empty if there is no such mistake, or if the place is not certain. Such a correction is only
/// offered, never applied.
[[nodiscard]] std::string correction_of_reread(FileIndex& index, const Hunk& hunk);

}  // namespace galley
