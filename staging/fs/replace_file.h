#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

// Private files that are replaced whole: whoever reads one sees it as it was or as it is. Nothing
// is synced. What is new goes to `<name>.new` first.

namespace galley {

/// Writes a private file, in place of the one that is there.
[[nodiscard]] Result<void> replace_file(const WritableDirectory& directory, std::string_view name,
                                        std::string_view content);

/// As replace_file(), for what is replaced again and again, and is read only by who holds a lock:
/// the file that was replaced stays as `<name>.new` and is written the next time, so that none is
/// made and none is deleted. One that has another name, in a fork, is not written.
[[nodiscard]] Result<void> swap_file(const WritableDirectory& directory, std::string_view name,
                                     std::string_view content);

/// What a file says that has to be this user's own, or root's. Nothing where none is there, this
/// user cannot read it, it belongs to another or has more than `most` bytes.
[[nodiscard]] Result<std::optional<std::string>> read_own_file(const Directory& directory,
                                                               const RelPath& path, uint64_t most);

}  // namespace galley
