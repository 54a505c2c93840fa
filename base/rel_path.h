#pragma once

#include <galley/path.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The name as a file system that folds names would compare it: ASCII letters in lower case,
/// without code points that HFS+ or ext4 ignore (Unicode's Default_Ignorable_Code_Point), without
/// NTFS streams and trailing dots and spaces.
[[nodiscard]] std::string folded_name(std::string_view component);

/// Parses a path that is fixed in the code of Galley. Aborts if the text is not a valid path.
[[nodiscard]] RelPath chosen_path(std::string_view text);

}  // namespace galley
