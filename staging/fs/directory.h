#pragma once

#include <cstdint>
#include <map>
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
  uint64_t mount = 0;  ///< mount id; 0 if the kernel does not report it
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  int64_t birth_ns = 0;  ///< creation time; 0 if the file system does not report it

  bool operator==(const FileStat&) const = default;
};

struct DirectoryEntry {
  std::string name;  ///< bytes from the kernel; may be invalid as a RelPath component
  FileKind kind = FileKind::kOther;
};

/// The names of the entries in the form for programs: the name of a directory ends in `/`.
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
  kRead,          ///< an existing regular file, to sync it or to change its mode or attributes
  kReadWrite,     ///< an existing regular file
  kCreateNew,     ///< O_CREAT|O_EXCL, read-write
  kOpenOrCreate,  ///< O_CREAT, read-write
};

enum class RenameMode : uint8_t {
  kReplace,    ///< rename(2)
  kNoReplace,  ///< RENAME_NOREPLACE: EEXIST if the target exists
  kExchange,   ///< RENAME_EXCHANGE: both must exist; EINVAL if it is not supported
};

enum class LockMode : uint8_t { kShared, kExclusive };

/// An open regular file for reading.
///
/// Ownership: owns the descriptor. Threads: confined to one thread at a time.
/// Errors:    the implementation handles EINTR and short transfers. Every other failure is an Error
///            whose os_error is the errno.
class File {
 public:
  virtual ~File() = default;

  /// Reads `count` bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::string> read_at(uint64_t offset, size_t count) = 0;
  /// Returns how many bytes from `offset` on are a hole, so they are zeros; 0 if there is none, or
  /// if the file system does not report holes.
  virtual Result<uint64_t> hole_at(uint64_t /*offset*/) { return 0; }
  virtual Result<FileStat> stat() = 0;
  /// The state when the file was opened, without a system call if it is known; otherwise stat().
  virtual Result<FileStat> stat_at_open() { return stat(); }
  virtual Result<std::vector<ExtendedAttribute>> attributes() = 0;
  /// flock without waiting. Returns true if the lock was taken. The destructor releases it.
  virtual Result<bool> try_lock(LockMode mode) = 0;
  /// The kernel's descriptor, for APIs that need one; -1 for a file in memory.
  [[nodiscard]] virtual int descriptor() const = 0;
};

/// An open regular file that can be changed, as far as its OpenMode and the kernel allow.
///
/// Ownership, threads, errors: as File.
class WritableFile : public File {
 public:
  /// Writes all of `bytes` at `offset`.
  virtual Result<void> write_at(uint64_t offset, std::string_view bytes) = 0;
  /// Reserves space (fallocate). An Error with EOPNOTSUPP if the file system does not support it.
  virtual Result<void> allocate(uint64_t size) = 0;
  virtual Result<void> truncate(uint64_t size) = 0;
  virtual Result<void> sync_data() = 0;  ///< fdatasync
  virtual Result<void> sync() = 0;       ///< fsync
  virtual Result<void> set_mode(uint32_t mode) = 0;
  virtual Result<void> set_owner(uint32_t uid, uint32_t gid) = 0;
  /// Sets only the time of the last modification.
  virtual Result<void> set_modified(int64_t mtime_ns) = 0;
  virtual Result<void> set_attribute(const ExtendedAttribute& attribute) = 0;
  /// Removes an extended attribute, if it exists.
  virtual Result<void> remove_attribute(const std::string& name) = 0;
};

/// An open directory for reading. This is the interface to the file system: code outside of
/// staging/fs and staging/sandbox reads and writes files through it. Libraries such as libgit2 and
/// SQLite open files themselves.
///
/// The kernel resolves every path below this directory and follows no symbolic link. The parents
/// are resolved by openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS.
/// Without openat2 Galley walks them with O_NOFOLLOW. A path of one component costs one system
/// call.
///
/// Invariant: no call reads outside this directory, and none changes anything. Code that has only a
///            Directory cannot write, because everything that it opens is read-only, too.
/// Ownership: owns its descriptor. Threads: calls may run at the same time.
/// Errors:    a missing path (ENOENT) is ErrorKind::kNotFound unless stated otherwise. A symbolic
///            link among the parents is ErrorKind::kRefused, reason `path.through_symlink`. To open
///            anything but a regular file as a file is kRefused: a symbolic link `path.is_symlink`,
///            a directory `path.is_directory`, a FIFO, socket or device `path.special_file`.
class Directory {
 public:
  virtual ~Directory() = default;

  virtual Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const = 0;
  virtual Result<std::unique_ptr<File>> open_file(const RelPath& path) const = 0;
  /// lstat. The kind is kAbsent (not an Error) if the path or a parent is missing, or if a parent
  /// is not a directory. RelPath::root() is this directory itself.
  virtual Result<FileStat> stat(const RelPath& path) const = 0;
  virtual Result<std::string> read_link(const RelPath& path) const = 0;
  /// Entries of this directory without `.` and `..`, sorted by name.
  virtual Result<std::vector<DirectoryEntry>> list() const = 0;
  /// Extended attributes of a file, a directory or a link itself.
  virtual Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const = 0;
  /// Whether this process may make, replace and remove entries of this directory (faccessat). The
  /// result is a hint: the operation itself can still fail.
  virtual Result<bool> is_writable() const = 0;
  /// The kernel's descriptor, perhaps O_PATH, for APIs that need one; -1 for a directory in memory.
  [[nodiscard]] virtual int descriptor() const = 0;
};

/// An open directory for reading and writing. Publishing, recovery, files in `.galley` and the
/// layers of the sandbox need one; all other code takes a Directory.
///
/// Ownership, threads and errors are as with Directory.
///
/// Invariant: no call writes outside this directory. A Directory cannot be converted to a
///            WritableDirectory.
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
  /// `to_directory` must have the same implementation as this directory; so must that of rename().
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

/// Reads a whole regular file and its state, and opens it only once.
Result<FileRead> read_file_and_stat(const Directory& directory, const RelPath& path,
                                    uint64_t max_bytes);

/// Reads a whole regular file. Refuses a file of more than `max_bytes` (reason `limit.file_size`).
Result<std::string> read_file(const Directory& directory, const RelPath& path, uint64_t max_bytes);

/// Takes a piece of a file, which begins at this offset.
using UseFilePiece = std::function<Result<void>(uint64_t at, std::string_view piece)>;
/// Passes on at most `count` bytes from `from` on, piece by piece, with a bounded use of memory.
/// Holes are not read: their zeros are passed on. Returns the number of bytes; fewer than `count`
/// only at the end of the file.
Result<uint64_t> read_in_pieces(File& file, uint64_t from, uint64_t count, const UseFilePiece& use);
/// Does the same for a whole regular file. Returns its state at its opening, but the size that was
/// read. A larger file is refused as by read_file(), before it is read.
Result<FileStat> read_in_pieces(const Directory& directory, const RelPath& path, uint64_t max_bytes,
                                const UseFilePiece& use);

/// Creates the directory `path` and its missing parents.
Result<void> make_directories(const WritableDirectory& directory, const RelPath& path,
                              uint32_t mode);

/// Removes a directory tree, even if modes of its directories forbid that. Follows no links and
/// crosses no mount. A missing path is not an error. Other processes may remove the tree or add
/// a file to it meanwhile.
Result<void> remove_tree(const WritableDirectory& directory, const RelPath& path);

/// The word for a kind of file in output: file, directory, symlink, absent, other.
[[nodiscard]] std::string_view kind_name(FileKind kind);

/// Writes all of `bytes` at the end of a file, which has `end` bytes. Long runs of zeros become
/// holes, which use no disk space.
Result<void> write_with_holes(WritableFile& file, std::string_view bytes, uint64_t end = 0);

/// Opens directories below a top directory, by path. It keeps only a few open, because a tree may
/// be deeper than the limit of descriptors.
///
/// Ownership: borrows the top directory. Threads: confined to one thread.
class OpenDirectories {
 public:
  static constexpr size_t kMaxOpen = 16;  ///< directories kept open

  explicit OpenDirectories(const WritableDirectory& top) : top_(&top) {}

  /// The directory stays open as long as the pointer exists. Release it before you descend.
  Result<std::shared_ptr<const WritableDirectory>> at(const RelPath& path);
  Result<std::vector<DirectoryEntry>> list(const RelPath& path);

 private:
  const WritableDirectory* top_;
  std::map<RelPath, std::shared_ptr<const WritableDirectory>> open_;
};

/// As Directory::stat, but a path through a symbolic link is kAbsent, like a path below a file.
/// Such a path may be older than the link.
inline Result<FileStat> reachable_stat(const Directory& directory, const RelPath& path) {
  auto stat = directory.stat(path);
  if (!stat && stat.error().reason == "path.through_symlink") return FileStat();
  return stat;
}

}  // namespace galley
