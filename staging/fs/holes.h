#pragma once

#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Writes all of `bytes` to a new, empty file. Long runs of zeros become holes, which use no disk
/// space.
Result<void> write_with_holes(WritableFile& file, std::string_view bytes);

}  // namespace galley
