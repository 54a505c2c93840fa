#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Writes all of `bytes` at the end of a file, which has `end` bytes. Long runs of zeros become
/// holes, which use no disk space.
Result<void> write_with_holes(WritableFile& file, std::string_view bytes, uint64_t end = 0);

}  // namespace galley
