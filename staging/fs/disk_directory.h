#pragma once

#include <memory>
#include <string>

#include "staging/fs/directory.h"

namespace galley {

/// How the parents of a path are resolved.
enum class PathResolution : uint8_t {
  kBest,  ///< openat2 where the kernel has it
  kWalk,  ///< component by component with O_NOFOLLOW, as on kernels without openat2
};

/// Opens a directory of the real file system by any path that the process may name. Only this
/// function and the next two take a path that is not a RelPath.
/// Errors: kNotFound when it is missing, kInvalid when it is not a directory.
Result<std::unique_ptr<Directory>> open_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);
/// The same, for a directory that will be changed.
Result<std::unique_ptr<WritableDirectory>> open_writable_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);

/// The same, and makes missing directories of an absolute path with this mode: for Galley's files
/// in the user's home.
Result<std::unique_ptr<WritableDirectory>> make_disk_directory(const std::string& path,
                                                               uint32_t mode);

/// Whether the kernel resolves paths by openat2 (true) or Galley walks them (false); for `doctor`
/// and tests.
[[nodiscard]] bool has_openat2();

}  // namespace galley
