#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "staging/fs/directory.h"

namespace galley {

/// How the parents of a path are resolved.
enum class PathResolution : uint8_t {
  kBest,  ///< openat2 if the kernel has it
  kWalk,  ///< component by component with O_NOFOLLOW, as without openat2
};

/// Opens a directory of the real file system by any path, absolute or relative. In this interface
/// only this function and the next three take a path that is not a RelPath.
/// Errors: kNotFound if it is missing, kInvalid if it is not a directory.
Result<std::unique_ptr<Directory>> open_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);
/// As open_disk_directory(), for reading and writing.
Result<std::unique_ptr<WritableDirectory>> open_writable_disk_directory(
    const std::string& path, PathResolution resolution = PathResolution::kBest);

/// The attributes of the directory that open_disk_directory() would open.
/// Errors: those of open_disk_directory().
Result<FileStat> stat_disk_directory(const std::string& path);

/// As open_writable_disk_directory(), and makes missing directories of an absolute path with this
/// mode. For Galley's files in the user's home.
Result<std::unique_ptr<WritableDirectory>> make_disk_directory(const std::string& path,
                                                               uint32_t mode);

/// Whether the kernel has openat2; otherwise Galley walks the paths itself. For `doctor` and tests.
[[nodiscard]] bool has_openat2();

/// The mode of a new file, as in git: 0666, or 0777 for an executable, without the bits of the
/// umask. The umask is read once per process.
[[nodiscard]] uint32_t created_file_mode(bool is_executable = false);

/// The mode of a new directory: 0777 without the bits of the umask.
[[nodiscard]] uint32_t created_directory_mode();

}  // namespace galley
