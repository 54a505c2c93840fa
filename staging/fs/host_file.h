#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace galley {

/// Reads a file that the person at the command line named: any path, links followed, pipes too;
/// `-` is standard input. Never for a path that an agent or a patch named.
/// Errors: kUsage `input.not_found`, kInvalid `input.is_directory`, kQuota `limit.input_size`, kIo.
Result<std::string> read_host_file(const std::string& path, uint64_t max_bytes);

/// Reads a regular file that belongs to this user, to root or to `other_owner`; links are followed,
/// a FIFO or device is never waited for. Nothing when it is not there, is no such file or is larger
/// than `max_bytes`: for what may be left out when it is not sound.
std::optional<std::string> read_own_file(const std::string& path, uint64_t max_bytes,
                                         uint32_t other_owner);

/// Reads a regular file that belongs to this user and that nobody else may read or write (0600); a
/// link in its place is not followed, a FIFO or device is never waited for.
/// Errors: kNotFound; kRefused `file.not_private`; kQuota `limit.input_size`; kIo.
Result<std::string> read_private_file(const std::string& path, uint64_t max_bytes);

/// Makes a directory that the person at the command line named the current one of this process.
/// Errors: kUsage `workspace.not_found`.
Result<void> enter_directory(const std::string& path);

/// The absolute path as text, without `.`, `..` and slashes too many: no file is looked at. Empty
/// for an empty one.
[[nodiscard]] std::string plain_path(const std::string& path);

/// The absolute path of an existing directory, links resolved.
Result<std::string> absolute_path(const std::string& path);

}  // namespace galley
