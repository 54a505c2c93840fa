#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// The result of statx for one object; symbolic links are not followed.
struct FileStat {
  FileKind kind = FileKind::kAbsent;
  uint32_t mode = 0;  ///< permission bits only (07777)
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 0;
  uint64_t size = 0;  ///< bytes
  uint64_t inode = 0;
  uint64_t device = 0;
  uint64_t mount = 0;  ///< mount id, 0 where the kernel does not report it
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t birth_ns = 0;  ///< when the object was made; 0 where the file system does not report it

  bool operator==(const FileStat&) const = default;
};

struct DirectoryEntry {
  std::string name;  ///< bytes as the kernel gave them; may not be a valid RelPath component
  FileKind kind = FileKind::kOther;
};

/// Names as they are shown to programs: those of directories end in `/`.
[[nodiscard]] inline std::vector<std::string> listed_names(
    const std::vector<DirectoryEntry>& entries) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : entries) {
    names.push_back(entry.kind == FileKind::kDirectory ? entry.name + "/" : entry.name);
  }
  return names;
}

struct ExtendedAttribute {
  std::string name;
  std::string value;
  bool operator==(const ExtendedAttribute&) const = default;
};

enum class OpenMode : uint8_t {
  kRead,          ///< an existing regular file; to sync it, or for its mode and attributes
  kReadWrite,     ///< an existing regular file
  kCreateNew,     ///< O_CREAT|O_EXCL, read-write
  kOpenOrCreate,  ///< O_CREAT, read-write
};

enum class RenameMode : uint8_t {
  kReplace,    ///< rename(2)
  kNoReplace,  ///< RENAME_NOREPLACE: EEXIST when the target exists
  kExchange,   ///< RENAME_EXCHANGE: both must exist; EINVAL where it is not supported
};

enum class LockMode : uint8_t { kShared, kExclusive };

/// An open regular file that can be read.
///
/// Ownership: owns the descriptor. Threads: confined to one thread at a time.
/// Errors:    EINTR and short transfers are handled inside; every other failure is an Error whose
///            os_error is the errno.
class File {
 public:
  virtual ~File() = default;

  /// Reads up to `count` bytes at `offset`; shorter only at the end of the file.
  virtual Result<std::string> read_at(uint64_t offset, size_t count) = 0;
  virtual Result<FileStat> stat() = 0;
  /// The state at open(), without a system call; for a file that was just made, stat().
  virtual Result<FileStat> stat_at_open() { return stat(); }
  virtual Result<std::vector<ExtendedAttribute>> attributes() = 0;
  /// flock without waiting: true when the lock was taken. The destructor releases it.
  virtual Result<bool> try_lock(LockMode mode) = 0;
  /// The kernel's descriptor for APIs that need one, or -1 (memory).
  [[nodiscard]] virtual int descriptor() const = 0;
};

/// An open regular file that can be changed, within the limits of its OpenMode and the kernel.
///
/// Ownership, threads, errors: as File.
class WritableFile : public File {
 public:
  /// Writes all of `bytes` at `offset`.
  virtual Result<void> write_at(uint64_t offset, std::string_view bytes) = 0;
  /// Reserves space (fallocate); an Error with EOPNOTSUPP where the file system cannot.
  virtual Result<void> allocate(uint64_t size) = 0;
  virtual Result<void> truncate(uint64_t size) = 0;
  virtual Result<void> sync_data() = 0;  ///< fdatasync
  virtual Result<void> sync() = 0;       ///< fsync
  virtual Result<void> set_mode(uint32_t mode) = 0;
  virtual Result<void> set_owner(uint32_t uid, uint32_t gid) = 0;
  /// Sets the time of the last modification, and no other.
  virtual Result<void> set_modified(int64_t mtime_ns) = 0;
  virtual Result<void> set_attribute(const ExtendedAttribute& attribute) = 0;
  /// Removes an extended attribute, if it exists.
  virtual Result<void> remove_attribute(const std::string& name) = 0;
};

/// An open directory for reading, and the seam to the file system: code outside of staging/fs and
/// staging/sandbox reads and writes files through it. Libraries such as libgit2 and SQLite open
/// files themselves.
///
/// Every path is resolved below this directory by the kernel (openat2 with RESOLVE_BENEATH,
/// RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS in the parent position; a walk with O_NOFOLLOW
/// where openat2 is missing); the last component is never followed either. A path of one component
/// costs one system call.
///
/// Invariant: no call reads outside this directory, and none changes anything: code that holds only
///            a Directory cannot write, because everything that it opens is read-only, too.
/// Ownership: owns its descriptor. Threads: calls may run at the same time.
/// Errors:    ENOENT for a missing path is ErrorKind::kNotFound unless stated otherwise. A symbolic
///            link in a parent position is ErrorKind::kRefused, reason `path.through_symlink`.
///            Opened as a file, a symbolic link is kRefused `path.is_symlink`, a directory
///            `path.is_directory`, a FIFO, socket or device `path.special_file`.
class Directory {
 public:
  virtual ~Directory() = default;

  virtual Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const = 0;
  virtual Result<std::unique_ptr<File>> open_file(const RelPath& path) const = 0;
  /// lstat; kind is kAbsent (not an Error) when the path or one of its parents is missing, or when
  /// a parent is not a directory. RelPath::root() is this directory itself.
  virtual Result<FileStat> stat(const RelPath& path) const = 0;
  virtual Result<std::string> read_link(const RelPath& path) const = 0;
  /// Entries of this directory without `.` and `..`, sorted by name.
  virtual Result<std::vector<DirectoryEntry>> list() const = 0;
  /// Extended attributes of the object itself (a directory or link as well as a file).
  virtual Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const = 0;
  /// Whether entries of this directory may be made, replaced and removed (faccessat). The result is
  /// a hint; the operation itself can still fail.
  virtual Result<bool> is_writable() const = 0;
  /// The kernel's descriptor (O_PATH or not) for APIs that need one, or -1 (memory).
  [[nodiscard]] virtual int descriptor() const = 0;
};

/// An open directory in which everything can be changed. Publishing, recovery, files in `.galley`
/// and the layers of the sandbox need one; all other code takes a Directory.
///
/// Ownership, threads and errors are as with Directory.
///
/// Invariant: no call writes outside this directory. A Directory cannot be turned into one.
class WritableDirectory : public Directory {
 public:
  virtual Result<std::unique_ptr<WritableDirectory>> open_writable_directory(
      const RelPath& path) const = 0;
  virtual Result<std::unique_ptr<WritableFile>> open_writable_file(
      const RelPath& path, OpenMode mode, uint32_t create_mode = 0600) const = 0;

  Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const final;
  Result<std::unique_ptr<File>> open_file(const RelPath& path) const final;

  virtual Result<void> make_directory(const RelPath& path, uint32_t mode) const = 0;
  virtual Result<void> make_symlink(const RelPath& path, std::string_view target) const = 0;
  /// `to_directory` must be of the same implementation as this, as in rename.
  virtual Result<void> make_hard_link(const RelPath& from, const WritableDirectory& to_directory,
                                      const RelPath& to) const = 0;
  virtual Result<void> remove_file(const RelPath& path) const = 0;       ///< unlink
  virtual Result<void> remove_directory(const RelPath& path) const = 0;  ///< rmdir
  virtual Result<void> rename(const RelPath& from, const WritableDirectory& to_directory,
                              const RelPath& to, RenameMode mode) const = 0;
  virtual Result<void> set_mode(const RelPath& path, uint32_t mode) const = 0;
  /// lchown.
  virtual Result<void> set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const = 0;
  virtual Result<void> set_attribute(const RelPath& path,
                                     const ExtendedAttribute& attribute) const = 0;
  /// Removes an extended attribute, if it exists.
  virtual Result<void> remove_attribute(const RelPath& path, const std::string& name) const = 0;
  virtual Result<void> sync() const = 0;              ///< fsync of this directory
  virtual Result<void> sync_file_system() const = 0;  ///< syncfs
};

/// The bytes of a file, and its state just before they were read.
struct FileRead {
  std::string bytes;
  FileStat stat;
};

/// Reads a whole regular file with one open; Errors as read_file().
Result<FileRead> read_file_and_stat(const Directory& directory, const RelPath& path,
                                    uint64_t max_bytes);

/// Reads a whole regular file; refuses one larger than `max_bytes` (reason `limit.file_size`).
Result<std::string> read_file(const Directory& directory, const RelPath& path, uint64_t max_bytes);

/// Creates every missing directory of `path`, which is itself a directory.
Result<void> make_directories(const WritableDirectory& directory, const RelPath& path,
                              uint32_t mode);

/// Removes a directory tree, whatever the modes of its directories are; follows no links and
/// crosses no mount. A missing path is not an error.
Result<void> remove_tree(const WritableDirectory& directory, const RelPath& path);

/// The word for a kind of file in documents: file, directory, symlink, absent, other.
[[nodiscard]] std::string_view kind_name(FileKind kind);

}  // namespace galley
