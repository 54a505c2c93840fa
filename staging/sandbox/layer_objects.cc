#include "staging/sandbox/layer_objects.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

constexpr int kOpenLevels = 8;  ///< of directories that are open at once

/// Empties `top` at any depth. Directories more than a few levels below it are moved up to be
/// children of `top`. So no path gets long and few descriptors are open. The files in `top` itself
/// come last: one may be the mark by which gc finds the rest (layer_homes.h).
class Eraser {
 public:
  explicit Eraser(const WritableDirectory& top) : top_(top) {}

  Result<void> run() {
    for (;;) {
      GALLEY_ASSIGN(const auto entries, top_.list());
      const auto is_directory = [](const auto& entry) {
        return entry.kind == FileKind::kDirectory;
      };
      const bool has_directories = std::any_of(entries.begin(), entries.end(), is_directory);
      for (const DirectoryEntry& entry : entries) {
        if (is_directory(entry)) {
          GALLEY_TRY(remove(top_, entry.name, kOpenLevels));
        } else if (!has_directories) {
          GALLEY_TRY(unlink_entry(top_, entry.name));
        }
      }
      if (!has_directories) return {};
    }
  }

 private:
  static Result<void> unlink_entry(const WritableDirectory& directory, const std::string& name) {
    if (unlinkat(directory.descriptor(), name.c_str(), 0) == 0) return {};
    return os_error(errno, "cannot remove from a layer", "");
  }

  /// Lets this process change a directory. Whoever owns the layer may put a link in the
  /// directory's place meanwhile, and fchmodat would follow it.
  static bool make_private(const WritableDirectory& parent, const std::string& name) {
    const int fd =
        openat(parent.descriptor(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    const std::string self = "/proc/self/fd/" + std::to_string(fd);
    const bool is_done = chmod(self.c_str(), kPrivateDirectory) == 0;
    close(fd);
    return is_done;
  }

  /// Removes a directory with at most this many levels below it, and moves deeper ones up.
  Result<void> remove(const WritableDirectory& parent, const std::string& name, int levels) {
    if (unlinkat(parent.descriptor(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    (void)make_private(parent, name);
    // Names here may be any bytes, so a RelPath cannot be used.
    const int fd =
        openat(parent.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return os_error(errno, "cannot enter a layer", "");
    GALLEY_ASSIGN(const auto child,
                  open_writable_disk_directory("/proc/self/fd/" + std::to_string(fd)));
    close(fd);
    GALLEY_ASSIGN(const auto entries, child->list());
    for (const DirectoryEntry& entry : entries) {
      if (entry.kind != FileKind::kDirectory) {
        GALLEY_TRY(unlink_entry(*child, entry.name));
      } else if (levels > 0) {
        GALLEY_TRY(remove(*child, entry.name, levels - 1));
      } else {
        GALLEY_TRY(move_up(*child, entry.name));
      }
    }
    if (unlinkat(parent.descriptor(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    return os_error(errno, "cannot remove from a layer", "");
  }

  Result<void> move_up(const WritableDirectory& from, const std::string& name) {
    if (unlinkat(from.descriptor(), name.c_str(), AT_REMOVEDIR) == 0) return {};
    for (;;) {
      const std::string fresh = "erase-" + std::to_string(count_++);
      if (renameat2(from.descriptor(), name.c_str(), top_.descriptor(), fresh.c_str(),
                    RENAME_NOREPLACE) == 0) {
        return {};
      }
      if (errno == EEXIST) continue;
      // A directory whose `..` changes must be writable to this process.
      if (errno != EACCES || !make_private(from, name)) {
        return os_error(errno, "cannot remove from a layer", "");
      }
    }
  }

  const WritableDirectory& top_;
  uint64_t count_ = 0;
};

}  // namespace

bool is_whiteout(const Directory& directory, const RelPath& name) {
  struct stat found {};
  return fstatat(directory.descriptor(), name.str().c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISCHR(found.st_mode) && found.st_rdev == makedev(0, 0);
}

Result<bool> is_opaque(const Directory& layer, const RelPath& directory) {
  GALLEY_ASSIGN(const auto attributes, layer.attributes(directory));
  return std::any_of(attributes.begin(), attributes.end(), [](const ExtendedAttribute& one) {
    return one.name == kOpaqueMark && one.value == "y";
  });
}

Result<void> make_whiteout(const WritableDirectory& directory, const RelPath& path) {
  std::unique_ptr<WritableDirectory> owned;
  const WritableDirectory* parent = &directory;
  if (!path.parent().is_root()) {
    GALLEY_ASSIGN(owned, directory.open_writable_directory(path.parent()));
    parent = owned.get();
  }
  const std::string name(path.name());
  if (mknodat(parent->descriptor(), name.c_str(), S_IFCHR, makedev(0, 0)) == 0) return {};
  return os_error(errno, "cannot make a whiteout for", path.str());
}

Result<void> set_owner_like(const WritableDirectory& directory, const RelPath& path,
                            const FileStat& like) {
  if (geteuid() != 0) return {};
  auto set = directory.set_owner(path, like.uid, like.gid);
  if (set || set.error().os_error != EINVAL) return set;
  Error why = set.error();
  why.message += fmt::format(
      ": this user namespace has no id for {}:{}; map more ids (unshare --map-auto), or run galley "
      "outside of the namespace",
      like.uid, like.gid);
  return why;
}

Result<void> set_root_like(const WritableDirectory& layer, const Directory& workspace,
                           bool is_upper) {
  GALLEY_ASSIGN(const FileStat root, workspace.stat(RelPath::root()));
  if (fchmod(layer.descriptor(), root.mode | (is_upper ? 0U : kOwnerAll)) != 0 ||
      (geteuid() == 0 && fchown(layer.descriptor(), root.uid, root.gid) != 0)) {
    return os_error(errno, "cannot prepare a layer", "");
  }
  return {};
}

Result<void> erase_layer(const WritableDirectory& parent, const RelPath& name) {
  GALLEY_ASSIGN(const FileStat found, parent.stat(name));
  if (found.kind == FileKind::kAbsent) return {};
  if (found.kind != FileKind::kDirectory) return parent.remove_file(name);
  (void)parent.set_mode(name, kPrivateDirectory);
  {
    GALLEY_ASSIGN(const auto top, parent.open_writable_directory(name));
    GALLEY_TRY(Eraser(*top).run());
  }
  return parent.remove_directory(name);
}

}  // namespace galley
