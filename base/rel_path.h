#pragma once

#include <galley/path.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The name as a file system that folds names would compare it: ASCII letters in lower case, code
/// points that HFS+ or ext4 (Unicode's Default_Ignorable_Code_Point) ignore left out, NTFS streams
/// and trailing dots and spaces dropped.
[[nodiscard]] std::string folded_name(std::string_view component);

/// The path that a text of Galley's own spells; a text that is not a path is a bug.
[[nodiscard]] RelPath chosen_path(std::string_view text);

}  // namespace galley
