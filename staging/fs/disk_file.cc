#include "staging/fs/disk_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <limits>

namespace galley {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr unsigned kModeBits = 07777;
/// A mount id that is never reused; Linux 6.8, not in the headers of Debian 12.
constexpr unsigned kStatxMountIdUnique = 0x4000;
constexpr int kMaxAttributeRaces = 8;
/// Maximum size of one transfer. Linux transfers at most 0x7ffff000 bytes per call.
constexpr size_t kMaxTransferBytes = size_t{1} << 30U;

/// Names the whole path on a full disk: the name of a file below .galley does not say which disk.
Error cannot_write(int code, int fd, const std::string& name) {
  if (code != ENOSPC) return os_error(code, "cannot write", name);
  std::string path(PATH_MAX, '\0');
  const std::string self = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(self.c_str(), path.data(), path.size());
  path.resize(static_cast<size_t>(std::max(length, ssize_t{0})));
  return os_error(code, "cannot write", path.empty() ? name : path);
}

FileKind kind_of(unsigned mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  if (S_ISLNK(mode)) return FileKind::kSymlink;
  return FileKind::kOther;
}

/// Times outside of the years 1678 to 2261 become the nearest one within.
int64_t to_ns(const struct statx_timestamp& time) {
  constexpr int64_t kMostSeconds = std::numeric_limits<int64_t>::max() / kNsPerSecond - 1;
  return std::clamp<int64_t>(time.tv_sec, -kMostSeconds, kMostSeconds) * kNsPerSecond +
         time.tv_nsec;
}

timespec to_timespec(int64_t ns) {
  const int64_t rest = (ns % kNsPerSecond + kNsPerSecond) % kNsPerSecond;  // before 1970, too
  return {(ns - rest) / kNsPerSecond, rest};
}

class DiskFile final : public WritableFile {
 public:
  DiskFile(Descriptor descriptor, std::string name, std::optional<FileStat> stat)
      : descriptor_(std::move(descriptor)), name_(std::move(name)), at_open_(stat) {}

  Result<std::string> read_at(uint64_t offset, size_t count) override;
  Result<uint64_t> hole_at(uint64_t offset) override;
  Result<void> write_at(uint64_t offset, std::string_view bytes) override;
  Result<void> allocate(uint64_t size) override;
  Result<void> truncate(uint64_t size) override;
  Result<void> sync_data() override { return check(fdatasync(fd()), "cannot sync"); }
  Result<void> sync() override { return check(fsync(fd()), "cannot sync"); }
  Result<FileStat> stat() override;
  Result<FileStat> stat_at_open() override { return at_open_ ? *at_open_ : stat(); }
  Result<void> set_mode(uint32_t mode) override {
    return check(fchmod(fd(), mode), "cannot set mode of");
  }
  Result<void> set_owner(uint32_t uid, uint32_t gid) override {
    return check(fchown(fd(), uid, gid), "cannot set owner of");
  }
  Result<void> set_modified(int64_t mtime_ns) override {
    const timespec times[2] = {{0, UTIME_OMIT}, to_timespec(mtime_ns)};
    return check(futimens(fd(), times), "cannot set the times of");
  }
  Result<std::vector<ExtendedAttribute>> attributes() override;
  Result<void> set_attribute(const ExtendedAttribute& attribute) override {
    return check(
        fsetxattr(fd(), attribute.name.c_str(), attribute.value.data(), attribute.value.size(), 0),
        "cannot set attribute of");
  }
  Result<void> remove_attribute(const std::string& name) override {
    const int status = fremovexattr(fd(), name.c_str());
    if (status != 0 && (errno == ENODATA || errno == EOPNOTSUPP)) return {};
    return check(status, "cannot remove attribute of");
  }
  Result<bool> try_lock(LockMode mode) override;
  [[nodiscard]] int descriptor() const override { return fd(); }

 private:
  [[nodiscard]] int fd() const { return descriptor_.get(); }
  Result<void> check(int status, std::string_view action) const {
    if (status == 0) return {};
    return os_error(errno, action, name_);
  }

  Descriptor descriptor_;
  std::string name_;
  std::optional<FileStat> at_open_;
  std::optional<bool> tells_holes_;
};

/// Other file systems may report a hole where data is not written out yet.
bool tells_holes(int file) {
  struct statfs system {};
  if (fstatfs(file, &system) != 0) return false;
  constexpr std::array<uint32_t, 5> kKnown = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                              TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
  return std::find(kKnown.begin(), kKnown.end(), static_cast<uint32_t>(system.f_type)) !=
         kKnown.end();
}

Result<std::string> DiskFile::read_at(uint64_t offset, size_t count) {
  std::string bytes(count, '\0');
  size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(fd(), bytes.data() + done, std::min(count - done, kMaxTransferBytes),
                              static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, "cannot read", name_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
    // A short read up to the known size is the end of the file. This saves another call.
    if (done < count && at_open_ && offset + done == at_open_->size) break;
  }
  bytes.resize(done);
  return bytes;
}

Result<uint64_t> DiskFile::hole_at(uint64_t offset) {
  if (!tells_holes_) tells_holes_ = tells_holes(fd());
  struct stat before {};  // the file may be appended to meanwhile
  if (!*tells_holes_ || fstat(fd(), &before) != 0) return 0;
  const auto from = static_cast<off_t>(offset);
  off_t data = lseek(fd(), from, SEEK_DATA);
  if (data < 0 && errno == ENXIO) data = before.st_size;  // no data up to the end
  return data > from ? static_cast<uint64_t>(data - from) : 0;
}

Result<void> DiskFile::write_at(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd(), bytes.data(), std::min(bytes.size(), kMaxTransferBytes),
                               static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return cannot_write(errno, fd(), name_);
    if (put == 0) return os_error(EIO, "cannot write", name_);
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return {};
}

Result<void> DiskFile::allocate(uint64_t size) {
  int status = -1;
  do {
    status = fallocate(fd(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
  } while (status != 0 && errno == EINTR);
  return check(status, "cannot reserve space for");
}

Result<void> DiskFile::truncate(uint64_t size) {
  // ext4 flushes a file at close if it was truncated to 0, even if it was already empty.
  struct stat now {};
  const bool is_new = size == 0 && fstat(fd(), &now) == 0 && now.st_size == 0 && now.st_blocks == 0;
  if (is_new) return {};
  int status = -1;
  do {
    status = ftruncate(fd(), static_cast<off_t>(size));
  } while (status != 0 && errno == EINTR);
  return check(status, "cannot truncate");
}

Result<FileStat> DiskFile::stat() {
  FileStat result;
  if (disk_stat(fd(), "", result)) return result;
  return os_error(errno, "cannot look at", name_);
}

Result<std::vector<ExtendedAttribute>> DiskFile::attributes() {
  return read_attributes(
      name_, [&](char* list, size_t size) { return flistxattr(fd(), list, size); },
      [&](const char* name, void* value, size_t size) {
        return fgetxattr(fd(), name, value, size);
      });
}

Result<bool> DiskFile::try_lock(LockMode mode) {
  const int operation = (mode == LockMode::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (flock(fd(), operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return os_error(errno, "cannot lock", name_);
  }
  return true;
}

/// The value of one attribute; nullopt if it was removed meanwhile.
Result<std::optional<std::string>> read_attribute(
    std::string_view name, const char* attribute,
    const std::function<ssize_t(const char*, void*, size_t)>& get) {
  for (int race = 0; race < kMaxAttributeRaces; ++race) {
    const ssize_t size = get(attribute, nullptr, 0);
    if (size < 0) break;
    std::string value(static_cast<size_t>(size), '\0');
    const ssize_t got = get(attribute, value.data(), value.size());
    if (got >= 0) {
      value.resize(static_cast<size_t>(got));
      return std::optional<std::string>(std::move(value));
    }
    if (errno != ERANGE) break;
  }
  if (errno == ENODATA) return std::optional<std::string>();
  return os_error(errno, "cannot read attributes of", name);
}

}  // namespace

void Descriptor::reset() {
  // Not retried after EINTR: Linux has closed the descriptor anyway.
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

std::unique_ptr<WritableFile> make_disk_file(Descriptor descriptor, std::string name,
                                             std::optional<FileStat> stat) {
  return std::make_unique<DiskFile>(std::move(descriptor), std::move(name), stat);
}

bool disk_stat(int directory, const char* name, FileStat& result, bool follows) {
  struct statx status {};
  int flags = AT_NO_AUTOMOUNT;
  if (!follows) flags |= AT_SYMLINK_NOFOLLOW;
  if (*name == '\0') flags |= AT_EMPTY_PATH;
  constexpr unsigned kMountId = STATX_MNT_ID | kStatxMountIdUnique;
  constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_BTIME | kMountId;
  if (statx(directory, name, flags, kWanted, &status) != 0) return false;
  result.kind = kind_of(status.stx_mode);
  result.mode = status.stx_mode & kModeBits;
  result.uid = status.stx_uid;
  result.gid = status.stx_gid;
  result.nlink = status.stx_nlink;
  result.size = status.stx_size;
  result.inode = status.stx_ino;
  constexpr unsigned kMajorShift = 32;
  result.device = uint64_t{status.stx_dev_major} << kMajorShift | status.stx_dev_minor;
  result.mount = (status.stx_mask & kMountId) != 0 ? status.stx_mnt_id : 0;
  result.mtime_ns = to_ns(status.stx_mtime);
  result.ctime_ns = to_ns(status.stx_ctime);
  result.birth_ns = (status.stx_mask & STATX_BTIME) != 0 ? to_ns(status.stx_btime) : 0;
  return true;
}

Result<std::vector<ExtendedAttribute>> read_attributes(
    std::string_view name, const std::function<ssize_t(char*, size_t)>& list,
    const std::function<ssize_t(const char*, void*, size_t)>& get) {
  std::string names;
  for (int race = 0;; ++race) {
    const ssize_t size = list(nullptr, 0);
    if (size < 0 && errno == EOPNOTSUPP) return std::vector<ExtendedAttribute>();
    if (size < 0) return os_error(errno, "cannot list attributes of", name);
    names.assign(static_cast<size_t>(size), '\0');
    if (size == 0) return std::vector<ExtendedAttribute>();
    const ssize_t got = list(names.data(), names.size());
    if (got >= 0) {
      names.resize(static_cast<size_t>(got));
      break;
    }
    if (errno != ERANGE || race == kMaxAttributeRaces) {
      return os_error(errno, "cannot list attributes of", name);
    }
  }
  std::vector<ExtendedAttribute> attributes;
  for (size_t start = 0; start < names.size();) {
    const std::string attribute = names.c_str() + start;
    start += attribute.size() + 1;
    GALLEY_ASSIGN(auto value, read_attribute(name, attribute.c_str(), get));
    if (value) attributes.push_back({attribute, std::move(*value)});
  }
  std::sort(attributes.begin(), attributes.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return attributes;
}

}  // namespace galley
