#include "staging/fs/disk_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

#include "base/result.h"
#include "staging/fs/disk_file.h"

namespace galley {
namespace {

constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
/// Maximum number of retries. openat2 returns EAGAIN if any rename on the system happened
/// meanwhile, and EXDEV if another process moved the object out of the directory between its
/// look-up and its check. A RelPath cannot lead out of the directory in another way.
constexpr int kMaxRaces = 1000;
constexpr long kFchmodat2 = 452;  // not in the headers of Debian 12

int sys_openat2(int directory, const char* path, int flags, uint32_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = kResolve;
  for (int race = 0;; ++race) {
    const auto fd = static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof how));
    const bool is_race = errno == EAGAIN || errno == EXDEV || errno == EINTR;
    if (fd >= 0 || !is_race || race == kMaxRaces) return fd;
  }
}

bool is_symlink_at(int directory, const char* name) {
  struct stat status {};
  return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

/// Walks the parents on kernels without openat2. It does not follow links, and a RelPath never
/// contains `..`.
int open_parent_by_walk(int directory, const RelPath& path) {
  Descriptor at;
  for (const auto component : path.components()) {
    const std::string name(component);
    const int base = at ? at.get() : directory;
    const int next = openat(base, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0) {
      if (errno == ENOTDIR) errno = is_symlink_at(base, name.c_str()) ? ELOOP : ENOTDIR;
      return -1;
    }
    at = Descriptor(next);
  }
  return at.release();
}

Error path_error(std::string_view action, const RelPath& path) {
  const int code = errno;
  Error error = os_error(code, action, path.str());
  if (code == ELOOP) {
    error.kind = ErrorKind::kRefused;
    error.reason = "path.through_symlink";
    error.message = "'" + path.str() +
                    "' leads through a symbolic link; name the file by the path the link points to";
  }
  return error;
}

class DiskDirectory final : public WritableDirectory {
 public:
  DiskDirectory(Descriptor descriptor, PathResolution resolution)
      : descriptor_(std::move(descriptor)), resolution_(resolution) {}

  Result<std::unique_ptr<WritableDirectory>> open_writable_directory(
      const RelPath& path) const override;
  Result<std::unique_ptr<WritableFile>> open_writable_file(const RelPath& path, OpenMode mode,
                                                           uint32_t create_mode) const override;
  Result<FileStat> stat(const RelPath& path) const override;
  Result<std::string> read_link(const RelPath& path) const override;
  Result<std::vector<DirectoryEntry>> list() const override;
  Result<void> make_directory(const RelPath& path, uint32_t mode) const override;
  Result<void> make_symlink(const RelPath& path, std::string_view target) const override;
  Result<void> make_hard_link(const RelPath& from, const WritableDirectory& to_directory,
                              const RelPath& to) const override;
  Result<void> remove_file(const RelPath& path) const override;
  Result<void> remove_directory(const RelPath& path) const override;
  Result<void> rename(const RelPath& from, const WritableDirectory& to_directory, const RelPath& to,
                      RenameMode mode) const override;
  Result<void> set_mode(const RelPath& path, uint32_t mode) const override;
  Result<void> set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const override;
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override;
  Result<void> set_attribute(const RelPath& path,
                             const ExtendedAttribute& attribute) const override;
  Result<void> remove_attribute(const RelPath& path, const std::string& name) const override;
  Result<void> sync() const override;
  Result<bool> is_writable() const override;
  Result<void> sync_file_system() const override;
  [[nodiscard]] int descriptor() const override { return descriptor_.get(); }

 private:
  /// The directory in which the last component is looked up: an opened parent, or this directory.
  struct Place {
    Descriptor owned;
    int directory = -1;
    std::string name;
  };
  Result<Place> place(std::string_view action, const RelPath& path) const;
  /// A descriptor that can be read or synced, even if this object's is O_PATH.
  Result<Descriptor> reopen(std::string_view action) const;
  int open_at(const RelPath& path, int flags, uint32_t mode) const;

  Descriptor descriptor_;
  PathResolution resolution_;
};

const DiskDirectory& as_disk(const WritableDirectory& directory) {
  const auto* disk = dynamic_cast<const DiskDirectory*>(&directory);
  GALLEY_CHECK(disk != nullptr);
  return *disk;
}

Result<DiskDirectory::Place> DiskDirectory::place(std::string_view action,
                                                  const RelPath& path) const {
  Place place;
  place.name = path.is_root() ? "." : std::string(path.name());
  place.directory = descriptor_.get();
  const RelPath parent = path.parent();
  if (parent.is_root()) return place;
  const int fd =
      resolution_ == PathResolution::kWalk
          ? open_parent_by_walk(descriptor_.get(), parent)
          : sys_openat2(descriptor_.get(), parent.str().c_str(), O_PATH | O_DIRECTORY, 0);
  if (fd < 0) return path_error(action, path);
  place.owned = Descriptor(fd);
  place.directory = fd;
  return place;
}

/// Opens the object itself, never the target of a link. Returns -1 with an errno as from openat2.
int DiskDirectory::open_at(const RelPath& path, int flags, uint32_t mode) const {
  const std::string text = path.is_root() ? "." : path.str();
  if (resolution_ != PathResolution::kWalk) {
    // Without O_NOFOLLOW, which makes a final link either ENOTDIR or ELOOP. kResolve refuses all
    // links.
    return sys_openat2(descriptor_.get(), text.c_str(), flags, mode);
  }
  Descriptor parent;
  int base = descriptor_.get();
  if (!path.parent().is_root()) {
    parent = Descriptor(open_parent_by_walk(base, path.parent()));
    if (!parent) return -1;
    base = parent.get();
  }
  const std::string name = path.is_root() ? "." : std::string(path.name());
  const int fd = openat(base, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 && errno == ENOTDIR && is_symlink_at(base, name.c_str())) errno = ELOOP;
  return fd;
}

Result<std::unique_ptr<WritableDirectory>> DiskDirectory::open_writable_directory(
    const RelPath& path) const {
  int fd = open_at(path, O_RDONLY | O_DIRECTORY, 0);
  // A directory without the read bit can still be traversed.
  if (fd < 0 && errno == EACCES) fd = open_at(path, O_PATH | O_DIRECTORY, 0);
  if (fd < 0) return path_error("cannot open directory", path);
  return std::unique_ptr<WritableDirectory>(
      std::make_unique<DiskDirectory>(Descriptor(fd), resolution_));
}

Result<std::unique_ptr<WritableFile>> DiskDirectory::open_writable_file(
    const RelPath& path, OpenMode mode, uint32_t create_mode) const {
  int flags = O_NONBLOCK | O_NOCTTY;  // do not wait for a FIFO
  switch (mode) {
    case OpenMode::kRead:
      flags |= O_RDONLY;
      break;
    case OpenMode::kReadWrite:
      flags |= O_RDWR;
      break;
    case OpenMode::kCreateNew:
      flags |= O_RDWR | O_CREAT | O_EXCL;
      break;
    case OpenMode::kOpenOrCreate:
      flags |= O_RDWR | O_CREAT;
      break;
  }
  const auto refused = [&](std::string reason, std::string_view what, int code) {
    return fail(Error{ErrorKind::kRefused, std::move(reason),
                      "'" + path.str() + "' is " + std::string(what) + ", not a regular file",
                      path.str(), code});
  };
  const int fd = open_at(path, flags, create_mode);
  if (fd < 0) {
    const int code = errno;
    if (code == EISDIR) return refused("path.is_directory", "a directory", code);
    if (code == ENXIO) return refused("path.special_file", "a socket or FIFO", code);
    if (code == ELOOP) {
      const auto found = stat(path);
      if (found && found->kind == FileKind::kSymlink) {
        return refused("path.is_symlink", "a symbolic link", code);
      }
    }
    errno = code;
    return path_error("cannot open", path);
  }
  Descriptor opened(fd);
  if (mode == OpenMode::kCreateNew) return make_disk_file(std::move(opened), path.str());
  FileStat status;
  if (!disk_stat(fd, "", status)) return path_error("cannot look at", path);
  if (status.kind == FileKind::kDirectory) {
    return refused("path.is_directory", "a directory", EISDIR);
  }
  if (status.kind != FileKind::kRegular) {
    return refused("path.special_file", "a special file", EINVAL);
  }
  return make_disk_file(std::move(opened), path.str(), status);
}

Result<FileStat> DiskDirectory::stat(const RelPath& path) const {
  const bool has_parent = !path.parent().is_root();
  Descriptor object;
  FileStat result;
  bool is_seen = false;
  if (has_parent) {
    // Opens the object, not its parent: so a missing path costs only one call.
    object = Descriptor(open_at(path, O_PATH | O_NOFOLLOW, 0));
    is_seen = object && disk_stat(object.get(), "", result);
  } else {
    const std::string name = path.is_root() ? "." : path.str();
    is_seen = disk_stat(descriptor_.get(), name.c_str(), result);
  }
  if (is_seen) return result;
  if (errno == ENOENT || errno == ENOTDIR) return FileStat{};
  return path_error("cannot look at", path);
}

Result<std::string> DiskDirectory::read_link(const RelPath& path) const {
  GALLEY_ASSIGN(const Place at, place("cannot read link", path));
  std::string target(PATH_MAX, '\0');
  const ssize_t count = readlinkat(at.directory, at.name.c_str(), target.data(), target.size());
  if (count < 0) return path_error("cannot read link", path);
  target.resize(static_cast<size_t>(count));
  return target;
}

Result<Descriptor> DiskDirectory::reopen(std::string_view action) const {
  const int fd = openat(descriptor_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return path_error(action, RelPath::root());
  return Descriptor(fd);
}

Result<std::vector<DirectoryEntry>> DiskDirectory::list() const {
  // A separate descriptor, because the read position belongs to the open file description.
  GALLEY_ASSIGN(Descriptor own, reopen("cannot list"));
  DIR* stream = fdopendir(own.get());
  if (stream == nullptr) return path_error("cannot list", RelPath::root());
  static_cast<void>(own.release());
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (const dirent* entry = readdir(stream)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    FileKind kind = FileKind::kOther;
    switch (entry->d_type) {
      case DT_REG:
        kind = FileKind::kRegular;
        break;
      case DT_DIR:
        kind = FileKind::kDirectory;
        break;
      case DT_LNK:
        kind = FileKind::kSymlink;
        break;
      case DT_UNKNOWN: {
        FileStat status;
        if (disk_stat(descriptor_.get(), name.c_str(), status)) kind = status.kind;
        break;
      }
      default:
        break;
    }
    entries.push_back({std::move(name), kind});
    errno = 0;
  }
  const int code = errno;
  closedir(stream);
  if (code != 0) return os_error(code, "cannot list directory", "");
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

Result<void> DiskDirectory::make_directory(const RelPath& path, uint32_t mode) const {
  GALLEY_ASSIGN(const Place at, place("cannot make directory", path));
  if (mkdirat(at.directory, at.name.c_str(), mode) == 0) return {};
  return path_error("cannot make directory", path);
}

Result<void> DiskDirectory::make_symlink(const RelPath& path, std::string_view target) const {
  GALLEY_ASSIGN(const Place at, place("cannot make symbolic link", path));
  if (symlinkat(std::string(target).c_str(), at.directory, at.name.c_str()) == 0) return {};
  return path_error("cannot make symbolic link", path);
}

Result<void> DiskDirectory::make_hard_link(const RelPath& from,
                                           const WritableDirectory& to_directory,
                                           const RelPath& to) const {
  GALLEY_ASSIGN(const Place source, place("cannot link", from));
  GALLEY_ASSIGN(const Place target, as_disk(to_directory).place("cannot link", to));
  if (linkat(source.directory, source.name.c_str(), target.directory, target.name.c_str(), 0) ==
      0) {
    return {};
  }
  return path_error("cannot link", from);
}

Result<void> DiskDirectory::remove_file(const RelPath& path) const {
  GALLEY_ASSIGN(const Place at, place("cannot remove", path));
  if (unlinkat(at.directory, at.name.c_str(), 0) == 0) return {};
  return path_error("cannot remove", path);
}

Result<void> DiskDirectory::remove_directory(const RelPath& path) const {
  GALLEY_ASSIGN(const Place at, place("cannot remove directory", path));
  if (unlinkat(at.directory, at.name.c_str(), AT_REMOVEDIR) == 0) return {};
  return path_error("cannot remove directory", path);
}

Result<void> DiskDirectory::rename(const RelPath& from, const WritableDirectory& to_directory,
                                   const RelPath& to, RenameMode mode) const {
  GALLEY_ASSIGN(const Place source, place("cannot rename", from));
  GALLEY_ASSIGN(const Place target, as_disk(to_directory).place("cannot rename to", to));
  unsigned flags = 0;
  if (mode == RenameMode::kNoReplace) flags = RENAME_NOREPLACE;
  if (mode == RenameMode::kExchange) flags = RENAME_EXCHANGE;
  if (renameat2(source.directory, source.name.c_str(), target.directory, target.name.c_str(),
                flags) == 0) {
    return {};
  }
  return path_error("cannot rename", from);
}

Result<void> DiskDirectory::set_mode(const RelPath& path, uint32_t mode) const {
  GALLEY_ASSIGN(const Place at, place("cannot set mode of", path));
  const char* name = at.name.c_str();
  // Through the descriptor alone, because "." cannot be looked up in a closed directory.
  if (path.is_root() && syscall(kFchmodat2, at.directory, "", mode, AT_EMPTY_PATH) == 0) return {};
  if (path.is_root() && fchmod(at.directory, mode) == 0) return {};
  if (syscall(kFchmodat2, at.directory, name, mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  // On kernels before 6.6, glibc does this with an O_PATH descriptor and /proc.
  if (errno == ENOSYS && fchmodat(at.directory, name, mode, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return path_error("cannot set mode of", path);
}

Result<void> DiskDirectory::set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const {
  GALLEY_ASSIGN(const Place at, place("cannot set owner of", path));
  const std::string name = path.is_root() ? "" : at.name;  // no look-up in a closed directory
  const int flags = AT_SYMLINK_NOFOLLOW | (path.is_root() ? AT_EMPTY_PATH : 0);
  if (fchownat(at.directory, name.c_str(), uid, gid, flags) == 0) return {};
  return path_error("cannot set owner of", path);
}

/// No xattr call takes a directory descriptor. So the path goes through the descriptor's link in
/// /proc, and the l-calls do not follow the last component.
std::string proc_path(int directory, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(directory) + "/" + name;
}

Result<std::vector<ExtendedAttribute>> DiskDirectory::attributes(const RelPath& path) const {
  GALLEY_ASSIGN(const Place at, place("cannot read attributes of", path));
  const std::string object = proc_path(at.directory, at.name);
  return read_attributes(
      path.str(), [&](char* list, size_t size) { return llistxattr(object.c_str(), list, size); },
      [&](const char* name, void* value, size_t size) {
        return lgetxattr(object.c_str(), name, value, size);
      });
}

Result<void> DiskDirectory::set_attribute(const RelPath& path,
                                          const ExtendedAttribute& attribute) const {
  GALLEY_ASSIGN(const Place at, place("cannot set attribute of", path));
  if (lsetxattr(proc_path(at.directory, at.name).c_str(), attribute.name.c_str(),
                attribute.value.data(), attribute.value.size(), 0) == 0) {
    return {};
  }
  return path_error("cannot set attribute of", path);
}

Result<void> DiskDirectory::remove_attribute(const RelPath& path, const std::string& name) const {
  GALLEY_ASSIGN(const Place at, place("cannot remove attribute of", path));
  if (lremovexattr(proc_path(at.directory, at.name).c_str(), name.c_str()) == 0) return {};
  if (errno == ENODATA || errno == EOPNOTSUPP) return {};
  return path_error("cannot remove attribute of", path);
}

Result<void> DiskDirectory::sync() const {
  if (fsync(descriptor_.get()) == 0) return {};
  if (errno != EBADF) return path_error("cannot sync directory", RelPath::root());
  GALLEY_ASSIGN(const Descriptor own, reopen("cannot sync directory"));
  if (fsync(own.get()) == 0) return {};
  return path_error("cannot sync directory", RelPath::root());
}

Result<bool> DiskDirectory::is_writable() const {
  if (::faccessat(descriptor_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return true;
  if (errno == EACCES || errno == EROFS || errno == EPERM) return false;
  return fail(os_error(errno, "looking at", "the directory"));
}

Result<void> DiskDirectory::sync_file_system() const {
  if (syncfs(descriptor_.get()) == 0) return {};
  if (errno != EBADF) return path_error("cannot sync file system", RelPath::root());
  GALLEY_ASSIGN(const Descriptor own, reopen("cannot sync file system"));
  if (syncfs(own.get()) == 0) return {};
  return path_error("cannot sync file system", RelPath::root());
}

constexpr uint32_t kFile = 0666;
constexpr uint32_t kAll = 0777;
constexpr mode_t kStrict = 0077;  ///< set while the umask is read: another thread may create a file

uint32_t creation_mask() {
  static const uint32_t kMask = [] {
    const mode_t mask = umask(kStrict);
    static_cast<void>(umask(mask));
    return static_cast<uint32_t>(mask);
  }();
  return kMask;
}

}  // namespace

bool has_openat2() {
  static const bool has = [] {
    const Descriptor fd(sys_openat2(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0));
    return static_cast<bool>(fd) || errno != ENOSYS;
  }();
  return has;
}

namespace {

Error cannot_open(int code, const std::string& path) {
  Error error = os_error(code, "cannot open directory", path);
  if (code == ENOTDIR) {
    error.kind = ErrorKind::kInvalid;
    error.reason = "path.not_directory";
  }
  return error;
}

}  // namespace

Result<std::unique_ptr<WritableDirectory>> open_writable_disk_directory(const std::string& path,
                                                                        PathResolution resolution) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) fd = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cannot_open(errno, path);
  if (!has_openat2()) resolution = PathResolution::kWalk;
  return std::unique_ptr<WritableDirectory>(
      std::make_unique<DiskDirectory>(Descriptor(fd), resolution));
}

Result<std::unique_ptr<Directory>> open_disk_directory(const std::string& path,
                                                       PathResolution resolution) {
  return open_writable_disk_directory(path, resolution);
}

Result<FileStat> stat_disk_directory(const std::string& path) {
  FileStat stat;
  if (!disk_stat(AT_FDCWD, path.c_str(), stat, true)) return cannot_open(errno, path);
  if (stat.kind != FileKind::kDirectory) return cannot_open(ENOTDIR, path);
  return stat;
}

Result<std::unique_ptr<WritableDirectory>> make_disk_directory(const std::string& path,
                                                               uint32_t mode) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string ancestor = path.substr(0, at);
    if (::mkdir(ancestor.c_str(), mode) != 0 && errno != EEXIST && errno != EISDIR) {
      return os_error(errno, "cannot make directory", ancestor);
    }
  }
  return open_writable_disk_directory(path);
}

uint32_t created_file_mode(bool is_executable) {
  return (is_executable ? kAll : kFile) & ~creation_mask();
}

uint32_t created_directory_mode() { return kAll & ~creation_mask(); }

}  // namespace galley
