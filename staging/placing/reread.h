#pragma once

#include <string>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"

namespace galley {

/// Returns the correction (correction_of) of a hunk that is read without one of these mistakes:
///
/// - Context lines have other words than the file's only similar line, or a comment behind it. If
///   at least two of them are so only without HTML escapes, the whole hunk is read without these.
/// - Parts that are elided from the changes (`...`) are in the file, but in another block. All
///   lines of the part with the changes must be at one place, and one of them below that block.
///
/// Empty if there is no such mistake, or the place is not certain. Such a correction is only
/// offered, never made.
[[nodiscard]] std::string correction_of_reread(FileIndex& index, const Hunk& hunk);

}  // namespace galley
