#include "staging/sandbox/view_pins.h"

#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <set>

#include "base/file_mode.h"
#include "staging/fs/open_directories.h"
#include "staging/sandbox/layer_objects.h"

// How a mounted overlay is kept from the changes of its lower layer.
//
// overlayfs looks a name up once and remembers what it found; what it has not looked up yet comes
// from the layer as it is then. So a lower layer that changes shows through in parts. A path that
// is in the upper layer before the change stays what it was: open files, cached entries and entries
// that are looked up later agree.
//
// Copying up needs any change of attributes. chown(-1, -1) is one that sets nothing, so it cannot
// undo what the program in the view does at the same moment; a chmod to the mode that was just read
// could.
//
// A name that comes new has to be looked up as absent. A whiteout says so, and overlayfs takes one
// that appears behind its back, but for one case: a program asked for the name before, and
// overlayfs remembers that it was absent without a whiteout. Then creating it fails with ESTALE
// ever after. Making and removing a directory of that name through the mount makes overlayfs forget
// the entry. A directory, since nothing can be lost in one: rmdir(2) takes only an empty one, and
// no file of the program's that took its place meanwhile.
//
// A directory that shows nothing of the lower layer, since the program made it itself or anew,
// needs no whiteouts, and must have none: overlayfs lists those. It says so of itself (opaque)
// where it took the place of another; one that had nothing below it gets that mark before something
// comes there, or it would be merged with it once overlayfs has forgotten its entry.

namespace galley {
namespace {

constexpr uint32_t kUnchanged = ~uint32_t{0};  // of chown(2)
constexpr int kMostLooks = 100;

/// Whether this is the mount of an overlay whose upper layer is `upper`: a merged directory has the
/// times of the upper one. A program that changes the directory just now gets another look.
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

/// What another process did to the path at the same moment, which is then its own.
bool is_race(const Error& error) {
  return error.os_error == ENOENT || error.os_error == ENOTDIR || error.os_error == EEXIST ||
         error.os_error == ENOTEMPTY;
}

/// Acts as the owner of a directory while it lives: an overlay of a namespace that does not know
/// root's number lets root make nothing.
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
    // The program deleted it, or what it lies in.
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
    // Removed right after it was copied up, or a view of something else.
    GALLEY_ASSIGN(const FileStat shown, reachable_stat(view_.mount, path));
    if (shown.kind == FileKind::kAbsent) return {};
    return fail(ErrorKind::kRefused, "run.not_its_view",
                "'" + path.str() + "' was not copied into the upper layer of the view");
  }

  /// For a directory of the view's own.
  Result<void> make_opaque(const RelPath& path) const {
    const auto marked = view_.upper.set_attribute(path, {kOpaqueMark, "y"});
    return marked || is_race(marked.error()) ? Result<void>() : marked;
  }

  /// Whether a directory shows nothing of the lower layer.
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

  /// For a path that the view does not have.
  Result<void> hide(const RelPath& path) const {
    const RelPath parent = path.parent();
    GALLEY_ASSIGN(const FileStat shown, reachable_stat(view_.mount, parent));
    if (shown.kind != FileKind::kDirectory) return {};
    GALLEY_ASSIGN(const bool shows_nothing_new, is_below_opaque(parent));
    if (shows_nothing_new) return {};
    if (!parent.is_root()) GALLEY_TRY(copy_up(parent));
    GALLEY_ASSIGN(const bool is_there, is_in_upper(path));
    if (is_there) return {};  // a whiteout, or made just now
    {
      const ActingAsOwner owner(shown);
      auto forgotten = view_.mount.make_directory(path, kPrivateDirectory);
      if (forgotten) forgotten = view_.mount.remove_directory(path);
      if (!forgotten && !is_race(forgotten.error())) return forgotten;
    }
    const auto hidden = make_whiteout(view_.upper, path);
    return hidden || is_race(hidden.error()) ? Result<void>() : hidden;
  }

  const LiveView& view_;
  std::set<RelPath> hidden_;  ///< absent in the view, and so is everything below
};

}  // namespace

Result<void> pin_view(const LiveView& view, const ChangeSet& changes) {
  if (!is_view_of(view)) {
    return fail(ErrorKind::kRefused, "run.not_its_view",
                "what is mounted there is no overlay with this upper layer");
  }
  Pinning pinning(view);
  for (const Change& change : changes) GALLEY_TRY(pinning.pin(change));
  return {};
}

}  // namespace galley
