#pragma once

#include <cstdint>

namespace galley {

/// The mode of a new file, as in git: 0666, or 0777 for an executable, without the bits of the
/// umask. The umask is read once per process.
[[nodiscard]] uint32_t created_file_mode(bool is_executable = false);

/// The mode of a new directory: 0777 without the bits of the umask.
[[nodiscard]] uint32_t created_directory_mode();

}  // namespace galley
