#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace galley {

/// Reads a file that the person at the command line named: any path, links followed, pipes too;
/// `-` is standard input. Never for a path that an agent or a patch named.
/// Errors: kUsage `input.not_found`, kInvalid `input.is_directory`, kQuota `limit.input_size`, kIo.
Result<std::string> read_host_file(const std::string& path, uint64_t max_bytes);

/// The absolute path of an existing directory, links resolved.
Result<std::string> absolute_path(const std::string& path);

}  // namespace galley
