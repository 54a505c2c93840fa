#include "staging/sandbox/live_file.h"

#include <cerrno>
#include <memory>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"

namespace galley {

Result<LiveFile> read_live_file(const Directory& directory, const RelPath& name,
                                const RelPath& path) {
  LiveFile file;
  for (int attempt = 0; attempt < kMaxReadsOfLiveFile; ++attempt) {
    GALLEY_ASSIGN(const FileStat before, directory.stat(name));
    if (before.size > limits::kMaxFileBytes) {
      file.refusal = "is larger than " + std::to_string(limits::kMaxFileBytes) + " bytes";
      return file;
    }
    auto bytes = read_file(directory, name, limits::kMaxFileBytes);
    if (!bytes && bytes.error().os_error == EACCES) {
      file.refusal = "cannot be read while the command runs: its mode forbids it";
      return file;
    }
    if (!bytes) return fail(bytes.error());
    GALLEY_ASSIGN(const FileStat after, directory.stat(name));
    if (before != after || bytes->size() != after.size) continue;
    // setuid and setgid are never proposed
    file.node =
        Node{FileKind::kRegular, after.mode & kPermissionBits, ContentId::of(*bytes), after.size};
    file.mtime_ns = after.mtime_ns;
    file.bytes = std::make_shared<const std::string>(*std::move(bytes));
    return file;
  }
  return fail(
      ErrorKind::kConflict, "run.file_changes",
      "'" + path.str() + "' changes faster than it can be read; wait until the run has written it",
      path.str());
}

}  // namespace galley
