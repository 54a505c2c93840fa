#include "staging/overlay/overlay_errors.h"

#include "base/limits.h"

namespace galley::overlay_errors {

tl::unexpected<Error> refuse(const char* reason, const RelPath& path, const std::string& message) {
  return fail(ErrorKind::kRefused, reason, "'" + path.str() + "' " + message, path.str());
}

tl::unexpected<Error> not_found(const RelPath& path) {
  return fail(ErrorKind::kNotFound, "path.not_found",
              "'" + path.str() + "' does not exist in the proposed tree", path.str());
}

tl::unexpected<Error> wrong_kind(const RelPath& path, FileKind kind) {
  switch (kind) {
    case FileKind::kDirectory:
      return refuse("path.is_directory", path, "is a directory, not a file");
    case FileKind::kSymlink:
      return refuse("path.is_symlink", path,
                    "is a symbolic link; name the file it points to, or replace the link itself");
    case FileKind::kOther:
      return refuse("path.special_file", path,
                    "is a FIFO, socket or device; Galley edits files, links and directories only");
    default:
      return not_found(path);
  }
}

Result<void> check_target(const RelPath& path, std::string_view target) {
  if (!target.empty() && target.size() <= limits::kMaxSymlinkBytes &&
      target.find('\0') == target.npos) {
    return {};
  }
  return refuse("path.bad_target", path, "needs a link target of 1 to 4095 bytes without NUL");
}

tl::unexpected<Error> changed_on_disk(const RelPath& path) {
  return fail(ErrorKind::kConflict, "conflict.changed_on_disk",
              "'" + path.str() +
                  "' changed on disk since this transaction read it; read all of it again (if it "
                  "is staged: rebase), or roll back and begin again",
              path.str());
}

}  // namespace galley::overlay_errors
