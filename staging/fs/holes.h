#pragma once

#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Writes all of `bytes` to a new, empty file. Long runs of zeros become holes, so a sparse file
/// takes only the space of its data.
Result<void> write_with_holes(WritableFile& file, std::string_view bytes);

}  // namespace galley
