#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

// Private files that are replaced as a whole: a reader sees the old or the new content. New content
// is first written to `<name>.new` or `<name>.<n>.new`. Nothing is synced.

namespace galley {

/// Takes the lock of a file, and waits at most `longest` for the processes that hold it. Returns
/// whether it was taken. Where the file system has no locks, every process gets it.
[[nodiscard]] Result<bool> take_lock(File& file, std::chrono::milliseconds longest);

/// An empty file that gets its own name when it is complete. Until then its maker holds a lock on
/// it, so no other process writes to it, renames it or removes it.
struct ScratchFile {
  RelPath name;
  std::unique_ptr<WritableFile> file;
};

/// Removes an object that has the name of a scratch file, unless it is a file of this user.
[[nodiscard]] Result<void> clear_scratch_name(const WritableDirectory& directory,
                                              const RelPath& name);

/// Creates this file. A file of that name that a killed process left is replaced. If a live process
/// holds the name, the result is nothing.
/// Errors: kRefused if the name belongs to something other than a regular file.
[[nodiscard]] Result<std::optional<ScratchFile>> make_only_scratch(
    const WritableDirectory& directory, const RelPath& name, uint32_t mode);

/// Creates the file `<before><after>` or, while live processes hold that name,
/// `<before>.<n><after>`.
/// Errors: as make_only_scratch(); EEXIST if many processes hold the names.
[[nodiscard]] Result<ScratchFile> make_scratch(const WritableDirectory& directory,
                                               const std::string& before, const std::string& after,
                                               uint32_t mode);

/// As replace_file(), for a file that several processes replace without a common lock. The last one
/// wins.
[[nodiscard]] Result<void> replace_shared_file(const WritableDirectory& directory,
                                               std::string_view name, std::string_view content);

/// Writes a private file and replaces the existing one. The caller holds a lock, or no other
/// process knows the directory.
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
