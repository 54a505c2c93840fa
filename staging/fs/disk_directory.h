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

/// Opens a directory of the real file system by any path the process may name. This function and
/// the next are the only ones that take a path that is not a RelPath.
/// Errors: kNotFound when it is missing, kInvalid when it is not a directory.
Result<std::unique_ptr<Directory>> open_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);
/// The same, for what is to be changed.
Result<std::unique_ptr<WritableDirectory>> open_writable_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);

/// The same, making what is missing of an absolute path with this mode: for what Galley keeps in
/// the home of its user.
Result<std::unique_ptr<WritableDirectory>> make_disk_directory(const std::string& path,
                                                               uint32_t mode);

/// Whether the kernel resolved paths by openat2 (true) or we walk (false); for `doctor` and tests.
[[nodiscard]] bool has_openat2();

}  // namespace galley
