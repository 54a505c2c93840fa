#pragma once

#include <cstdint>

namespace galley {

/// The mode of a file that open(2) makes for this process, as git makes it: 0666, or 0777 where it
/// is to be executable, less the umask. The umask is read once.
[[nodiscard]] uint32_t created_file_mode(bool is_executable = false);

/// The mode of a directory that mkdir(2) makes for this process: 0777 less the umask.
[[nodiscard]] uint32_t created_directory_mode();

}  // namespace galley
