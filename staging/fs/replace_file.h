#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

// Private files that are replaced as a whole: a reader sees the old or the new content. New content
// is first written to `<name>.new`. Nothing is synced.

namespace galley {

/// Writes a private file and replaces the existing one.
[[nodiscard]] Result<void> replace_file(const WritableDirectory& directory, std::string_view name,
                                        std::string_view content);

/// As replace_file(), for a file that is replaced often and read only under a lock. The replaced
/// file stays as `<name>.new`, and the next call overwrites it: so no inode is made or deleted. It
/// is not overwritten if it has another hard link, in a fork.
[[nodiscard]] Result<void> swap_file(const WritableDirectory& directory, std::string_view name,
                                     std::string_view content);

/// Reads a file of a trusted owner (is_trusted_owner). Returns nothing if it does not exist, may
/// not be read, belongs to another user or has more than `most` bytes.
[[nodiscard]] Result<std::optional<std::string>> read_own_file(const Directory& directory,
                                                               const RelPath& path, uint64_t most);

}  // namespace galley
