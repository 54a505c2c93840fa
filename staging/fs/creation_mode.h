#pragma once

#include <cstdint>

namespace galley {

/// The mode of a file that open(2) makes for this process, as in git: 0666, or 0777 for an
/// executable, without the bits of the umask. The umask is read once.
[[nodiscard]] uint32_t created_file_mode(bool is_executable = false);

/// The mode of a directory that mkdir(2) makes for this process: 0777 without the bits of the
/// umask.
[[nodiscard]] uint32_t created_directory_mode();

}  // namespace galley
