#include "staging/sandbox/view_pins.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <string>

#include "base/file_mode.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/layer_objects.h"

// How a mounted overlay is isolated from changes of its lower layer.
//
// overlayfs looks a name up once and caches the result; later look-ups see the layer as it is then.
// So a change of the lower layer becomes visible in parts. A path that is in the upper layer before
// the change keeps its state: open files, cached entries and later look-ups agree.
//
// Any change of attributes copies a file up. chown(-1, -1) changes nothing, so it cannot undo a
// concurrent change by the program in the view. A chmod to the mode that was just read could undo
// one.
//
// A new name must be looked up as absent. A whiteout does that, and overlayfs accepts one that is
// made directly in its upper layer. There is one exception: if a program has looked up the name
// before, overlayfs has cached that it is absent without a whiteout. Then creating the name always
// fails with ESTALE. Making and removing a directory of that name through the mount makes overlayfs
// drop the cached entry. A directory is used so that no data can be lost. rmdir(2) removes only an
// empty directory, and never a file that the program has made in its place meanwhile.
//
// A directory that hides the lower layer, because the program made it or replaced it, needs no
// whiteouts, and must have none: overlayfs lists those. It is marked opaque if it replaced another
// one. If the lower layer does not have the directory, it gets that mark before the lower layer
// gets one. Otherwise both would be merged after overlayfs has dropped its entry.

namespace galley {
namespace {

constexpr uint32_t kUnchanged = ~uint32_t{0};  // of chown(2)
constexpr int kMostLooks = 100;

/// Whether this is the mount of an overlay whose upper layer is `upper`: a merged directory has the
/// times of the upper one. If a program changes the directory at this moment, it is read again.
bool is_view_of(const LiveView& view) {
  struct statfs system {};
  if (fstatfs(view.mount.descriptor(), &system) != 0 || system.f_type != OVERLAYFS_SUPER_MAGIC) {
    return false;
  }
  for (int look = 0; look < kMostLooks; ++look) {
    const auto before = view.upper.stat(RelPath::root());
    const auto shown = view.mount.stat(RelPath::root());
    const auto after = view.upper.stat(RelPath::root());
    if (!before || !shown || !after) return false;
    if (before->ctime_ns != after->ctime_ns) continue;
    return shown->ctime_ns == before->ctime_ns && shown->mtime_ns == before->mtime_ns;
  }
  return false;
}

/// Whether another process changed the path at the same moment. That change is then kept.
bool is_race(const Error& error) {
  return error.os_error == ENOENT || error.os_error == ENOTDIR || error.os_error == EEXIST ||
         error.os_error == ENOTEMPTY;
}

/// Acts as the owner of a directory during its life, because an overlay of a namespace that does
/// not map root does not let root create files.
class ActingAsOwner {
 public:
  explicit ActingAsOwner(const FileStat& owned) {
    if (geteuid() != 0) return;
    (void)syscall(SYS_setfsgid, owned.gid);
    (void)syscall(SYS_setfsuid, owned.uid);
  }
  ~ActingAsOwner() {
    if (geteuid() != 0) return;
    (void)syscall(SYS_setfsuid, geteuid());
    (void)syscall(SYS_setfsgid, getegid());
  }
  ActingAsOwner(const ActingAsOwner&) = delete;
  ActingAsOwner& operator=(const ActingAsOwner&) = delete;
};

/// Makes a directory and removes it. A child process makes both calls, so that no directory is
/// left when this process is killed between them. Until then the child has the open files of this
/// process, so the next committer gets the writer lock afterwards.
Result<void> make_and_remove(const WritableDirectory& directory, const RelPath& path) {
  const auto above = directory.open_directory(path.parent());
  if (!above) return fail(above.error());
  const int within = (*above)->descriptor();
  const std::string name(path.name());
  sigset_t all;
  sigset_t signals;
  sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &signals);
  volatile int code = 0;        // the child has our memory, and we wait for its end
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (child == 0) {
    (void)setsid();  // a signal to our process group does not reach it
    if (mkdirat(within, name.c_str(), kPrivateDirectory) != 0 ||
        unlinkat(within, name.c_str(), AT_REMOVEDIR) != 0) {
      code = errno;
    }
    _exit(0);
  }
  if (child < 0) code = errno;
  if (child > 0) (void)waitpid(child, nullptr, 0);
  (void)pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  return code == 0 ? Result<void>() : fail(os_error(code, "cannot hide from the run:", path.str()));
}

class Pinning {
 public:
  explicit Pinning(const LiveView& view) : view_(view) {}

  Result<void> pin(const Change& change) {
    if (is_below_hidden(change.path)) return {};
    GALLEY_ASSIGN(const FileStat shown, reachable_stat(view_.mount, change.path));
    const bool is_its_own =
        shown.kind == FileKind::kDirectory && change.before.kind == FileKind::kAbsent;
    if (is_its_own) return make_opaque(change.path);
    if (shown.kind != FileKind::kAbsent) return copy_up(change.path);
    hidden_.insert(change.path);
    // The program deleted it, or a directory above it.
    if (change.before.kind != FileKind::kAbsent) return {};
    return hide(change.path);
  }

 private:
  [[nodiscard]] bool is_below_hidden(const RelPath& path) const {
    for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
      if (hidden_.contains(above)) return true;
    }
    return false;
  }

  [[nodiscard]] Result<bool> is_in_upper(const RelPath& path) const {
    GALLEY_ASSIGN(const FileStat there, reachable_stat(view_.upper, path));
    return there.kind != FileKind::kAbsent;
  }

  Result<void> copy_up(const RelPath& path) const {
    GALLEY_ASSIGN(const bool is_there, is_in_upper(path));
    if (is_there) return {};
    const auto copied = view_.mount.set_owner(path, kUnchanged, kUnchanged);
    if (!copied && !is_race(copied.error())) return copied;
    if (!copied) return {};
    GALLEY_ASSIGN(const bool is_copied, is_in_upper(path));
    if (is_copied) return {};
    // Either the path was removed just after it was copied up, or this is not a view of this layer.
    GALLEY_ASSIGN(const FileStat shown, reachable_stat(view_.mount, path));
    if (shown.kind == FileKind::kAbsent) return {};
    return fail(ErrorKind::kRefused, "run.not_its_view",
                "'" + path.str() + "' was not copied into the upper layer of the view");
  }

  /// For a directory that the view made itself.
  Result<void> make_opaque(const RelPath& path) const {
    const auto marked = view_.upper.set_attribute(path, {kOpaqueMark, "y"});
    return marked || is_race(marked.error()) ? Result<void>() : marked;
  }

  /// Whether a directory hides the lower layer completely.
  [[nodiscard]] Result<bool> is_below_opaque(const RelPath& path) const {
    for (RelPath at = path; !at.is_root(); at = at.parent()) {
      GALLEY_ASSIGN(const bool is_there, is_in_upper(at));
      if (!is_there) continue;
      const auto is_marked = is_opaque(view_.upper, at);
      if (!is_marked && is_race(is_marked.error())) continue;
      if (!is_marked || *is_marked) return is_marked;
    }
    return false;
  }

  /// For a path that is absent in the view.
  Result<void> hide(const RelPath& path) const {
    const RelPath parent = path.parent();
    GALLEY_ASSIGN(const FileStat shown, reachable_stat(view_.mount, parent));
    if (shown.kind != FileKind::kDirectory) return {};
    GALLEY_ASSIGN(const bool shows_nothing_new, is_below_opaque(parent));
    if (shows_nothing_new) return {};
    if (!parent.is_root()) GALLEY_TRY(copy_up(parent));
    GALLEY_ASSIGN(const bool is_there, is_in_upper(path));
    if (is_there) return {};  // a whiteout, or just made
    {
      const ActingAsOwner owner(shown);
      const auto forgotten = make_and_remove(view_.mount, path);
      if (!forgotten && !is_race(forgotten.error())) return forgotten;
    }
    const auto hidden = make_whiteout(view_.upper, path);
    return hidden || is_race(hidden.error()) ? Result<void>() : hidden;
  }

  const LiveView& view_;
  std::set<RelPath> hidden_;  ///< absent in the view, with everything below
};

Result<void> check_is_view(const LiveView& view) {
  if (is_view_of(view)) return {};
  return fail(ErrorKind::kRefused, "run.not_its_view",
              "what is mounted there is not an overlay with this upper layer");
}

constexpr uint32_t kNewParentMode = 0755;

Result<void> put_file(const WritableDirectory& mount, const RelPath& path, uint32_t mode,
                      std::string_view bytes) {
  GALLEY_ASSIGN(const FileStat there, mount.stat(path));
  bool is_file = there.kind == FileKind::kRegular;
  uint32_t has_mode = there.mode & kPermissionBits;
  auto opened = mount.open_writable_file(
      path, is_file ? OpenMode::kReadWrite : OpenMode::kCreateNew, kPrivateFile);
  if (!opened && is_file && opened.error().os_error == EACCES) {
    has_mode |= kPrivateFile;
    GALLEY_TRY(mount.set_mode(path, has_mode));
    opened = mount.open_writable_file(path, OpenMode::kReadWrite, kPrivateFile);
  }
  if (!opened && is_file && opened.error().os_error == ETXTBSY) {  // it runs
    is_file = false;
    GALLEY_TRY(mount.remove_file(path));
    opened = mount.open_writable_file(path, OpenMode::kCreateNew, kPrivateFile);
  }
  GALLEY_ASSIGN(const auto file, std::move(opened));
  GALLEY_TRY(file->write_at(0, bytes));
  if (is_file && there.size > bytes.size()) GALLEY_TRY(file->truncate(bytes.size()));
  return is_file && has_mode == mode ? Result<void>() : file->set_mode(mode);
}

}  // namespace

Result<void> put_in_view(const LiveView& view, const RelPath& path, const Node& node,
                         std::string_view bytes) {
  GALLEY_TRY(check_is_view(view));
  if (path.is_root() || path.is_protected()) {
    return fail(ErrorKind::kRefused, "path.protected",
                "'" + path.str() + "' belongs to git or Galley, and cannot be written here");
  }
  GALLEY_ASSIGN(const FileStat root, view.mount.stat(RelPath::root()));
  const ActingAsOwner owner(root);
  GALLEY_ASSIGN(const FileStat there, view.mount.stat(path));
  if (there.kind != FileKind::kAbsent && there.kind != node.kind) {
    GALLEY_TRY(there.kind == FileKind::kDirectory ? view.mount.remove_directory(path)
                                                  : view.mount.remove_file(path));
  }
  if (node.kind == FileKind::kAbsent) return {};
  if (!path.parent().is_root()) {
    GALLEY_TRY(make_directories(view.mount, path.parent(), kNewParentMode));
  }
  switch (node.kind) {
    case FileKind::kDirectory:
      if (there.kind != node.kind) GALLEY_TRY(view.mount.make_directory(path, kNewParentMode));
      return view.mount.set_mode(path, node.mode);
    case FileKind::kSymlink:
      if (there.kind == node.kind) GALLEY_TRY(view.mount.remove_file(path));
      return view.mount.make_symlink(path, bytes);
    case FileKind::kRegular:
      return put_file(view.mount, path, node.mode, bytes);
    case FileKind::kAbsent:
    case FileKind::kOther:
      break;
  }
  return fail(ErrorKind::kInternal, "sandbox.bad_change",
              "'" + path.str() + "' cannot be put into a view", path.str());
}

Result<void> pin_view(const LiveView& view, const ChangeSet& changes) {
  GALLEY_TRY(check_is_view(view));
  Pinning pinning(view);
  for (const Change& change : changes) GALLEY_TRY(pinning.pin(change));
  return {};
}

}  // namespace galley
