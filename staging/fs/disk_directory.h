#pragma once

#include <memory>
#include <string>

#include "staging/fs/directory.h"

namespace galley {

/// Opens a directory of the real file system by any path the process may name. The only function
/// that takes a path that is not a RelPath.
/// Errors: kNotFound when it is missing, kInvalid when it is not a directory.
Result<std::unique_ptr<Directory>> open_disk_directory(const std::string& path);

/// Whether the kernel resolved paths by openat2 (true) or we walk (false); for `doctor` and tests.
[[nodiscard]] bool has_openat2();

}  // namespace galley
