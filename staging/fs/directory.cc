#include "staging/fs/directory.h"

#include <algorithm>
#include <cerrno>

#include "base/file_mode.h"

namespace galley {
namespace {

constexpr size_t kFirstReadBytes = 4096;  ///< for a file that reports size 0
constexpr size_t kReadChunkBytes = size_t{1} << 20U;

/// Maximum number of levels that a removal keeps open. Deeper directories are first moved up.
constexpr int kMaxHeldLevels = 16;
constexpr int kMaxFreshNames = 1'000'000;
constexpr int kMostRemovals = 8;

/// Makes a directory readable and writable, so that it can be emptied. Another user's directory
/// stays unchanged, and the next operation on it reports the error.
void open_to_owner(const WritableDirectory& directory, const RelPath& name, uint32_t mode) {
  if ((mode & kOwnerAll) != kOwnerAll) static_cast<void>(directory.set_mode(name, kOwnerAll));
}

Error crosses_mount(const std::string& name) {
  return Error{ErrorKind::kRefused, "path.crosses_mount",
               "'" + name + "' is a mount point; unmount it before its tree is removed", name, 0};
}

/// Empties a directory of any depth with few descriptors and little stack.
class TreeRemoval {
 public:
  TreeRemoval(const WritableDirectory& top, uint64_t mount) : top_(top), mount_(mount) {}

  Result<void> run() {
    do {
      has_moved_ = false;
      GALLEY_TRY(remove_children(top_, 0));
    } while (has_moved_);
    return {};
  }

 private:
  Result<void> remove_children(const WritableDirectory& directory, int level) {
    GALLEY_ASSIGN(const auto entries, directory.list());
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
      if (entry.kind == FileKind::kDirectory) {
        GALLEY_TRY(remove_subdirectory(directory, name, level));
        continue;
      }
      auto removed = directory.remove_file(name);
      if (!removed && removed.error().os_error != ENOENT) return removed;
    }
    return {};
  }

  Result<void> remove_subdirectory(const WritableDirectory& directory, const RelPath& name,
                                   int level) {
    // Uses the parent, because a directory that cannot be entered can still be examined from its
    // parent.
    GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
    if (stat.kind == FileKind::kAbsent) return {};  // removed meanwhile
    // st_dev is the same for a bind mount of the same file system; the mount id is not.
    if (stat.mount != mount_) return crosses_mount(name.str());
    open_to_owner(directory, name, stat.mode);
    if (level == kMaxHeldLevels) return move_up(directory, name);
    {
      GALLEY_ASSIGN(const auto child, directory.open_writable_directory(name));
      GALLEY_TRY(remove_children(*child, level + 1));
    }
    auto removed = directory.remove_directory(name);
    if (!removed && removed.error().os_error != ENOENT) return removed;
    return {};
  }

  /// Moves a deep directory to the top directory; the next round removes it. The directory must be
  /// writable, because its `..` changes.
  Result<void> move_up(const WritableDirectory& directory, const RelPath& name) {
    has_moved_ = true;
    for (;;) {
      GALLEY_ASSIGN(const RelPath fresh, RelPath::parse("removed-" + std::to_string(fresh_++)));
      auto moved = directory.rename(name, top_, fresh, RenameMode::kReplace);
      const int why = moved ? 0 : moved.error().os_error;
      const bool is_taken = why == EEXIST || why == ENOTEMPTY || why == ENOTDIR;
      if (!is_taken || fresh_ > kMaxFreshNames) return moved;
    }
  }

  const WritableDirectory& top_;
  uint64_t mount_;
  int fresh_ = 0;
  bool has_moved_ = false;
};

/// Minimum length of a hole. Shorter holes would cost too many calls.
constexpr size_t kHoleBytes = size_t{256} << 10U;

tl::unexpected<Error> too_large(const RelPath& path, uint64_t max_bytes) {
  return fail(ErrorKind::kQuota, "limit.file_size",
              "'" + path.str() + "' is larger than " + std::to_string(max_bytes) + " bytes",
              path.str());
}

/// By a comparison with itself, which takes many bytes at once.
bool is_zero(std::string_view piece) {
  return piece.front() == '\0' && piece.substr(1) == piece.substr(0, piece.size() - 1);
}

}  // namespace

Result<std::unique_ptr<Directory>> WritableDirectory::open_directory(const RelPath& path) const {
  return open_writable_directory(path);
}

Result<std::unique_ptr<File>> WritableDirectory::open_file(const RelPath& path) const {
  return open_writable_file(path, OpenMode::kRead);
}

Result<FileRead> read_file_and_stat(const Directory& directory, const RelPath& path,
                                    uint64_t max_bytes) {
  GALLEY_ASSIGN(const auto file, directory.open_file(path));
  GALLEY_ASSIGN(const FileStat stat, file->stat_at_open());
  if (stat.size > max_bytes) return too_large(path, max_bytes);
  // Files of /proc report size 0, and a file may grow during the read. So only a short read shows
  // the end.
  std::string content;
  size_t want = stat.size == 0 ? kFirstReadBytes : static_cast<size_t>(stat.size) + 1;
  while (true) {
    GALLEY_ASSIGN(std::string chunk, file->read_at(content.size(), want));
    const bool at_end = chunk.size() < want;
    if (content.empty()) {
      content = std::move(chunk);
    } else {
      content.append(chunk);
    }
    if (content.size() > max_bytes) return too_large(path, max_bytes);
    if (at_end) return FileRead{std::move(content), stat};
    want = kReadChunkBytes;
  }
}

Result<uint64_t> read_in_pieces(File& file, uint64_t from, uint64_t count,
                                const UseFilePiece& use) {
  GALLEY_ASSIGN(const FileStat stat, file.stat_at_open());
  uint64_t hole = 0;  // what is left of it
  for (uint64_t done = 0; done < count;) {
    const uint64_t at = from + done;
    const uint64_t left = stat.size > at ? stat.size - at : 0;
    if (hole == 0 && left >= kHoleBytes) {
      GALLEY_ASSIGN(hole, file.hole_at(at));
    }
    if (hole > 0) {
      static const std::string zeros(kReadChunkBytes, '\0');
      const uint64_t size = std::min({hole, count - done, uint64_t{kReadChunkBytes}});
      GALLEY_TRY(use(at, std::string_view(zeros).substr(0, size)));
      hole -= size;
      done += size;
      continue;
    }
    // One byte more than expected, so that a file of the expected size needs one read.
    const uint64_t expected = left == 0 ? kFirstReadBytes : left + 1;
    const uint64_t want = std::min({expected, count - done, uint64_t{kReadChunkBytes}});
    GALLEY_ASSIGN(const std::string piece, file.read_at(at, static_cast<size_t>(want)));
    if (!piece.empty()) GALLEY_TRY(use(at, piece));
    done += piece.size();
    if (piece.size() < want) return done;
  }
  return count;
}

Result<FileStat> read_in_pieces(const Directory& directory, const RelPath& path, uint64_t max_bytes,
                                const UseFilePiece& use) {
  GALLEY_ASSIGN(const auto file, directory.open_file(path));
  GALLEY_ASSIGN(FileStat stat, file->stat_at_open());
  if (stat.size > max_bytes) return too_large(path, max_bytes);
  GALLEY_ASSIGN(stat.size, read_in_pieces(*file, 0, max_bytes + 1, use));
  if (stat.size > max_bytes) return too_large(path, max_bytes);
  return stat;
}

Result<std::string> read_file(const Directory& directory, const RelPath& path, uint64_t max_bytes) {
  GALLEY_ASSIGN(FileRead read, read_file_and_stat(directory, path, max_bytes));
  return std::move(read.bytes);
}

Result<void> make_directories(const WritableDirectory& directory, const RelPath& path,
                              uint32_t mode) {
  if (path.is_root()) return {};
  auto made = directory.make_directory(path, mode);
  if (made) return {};
  if (made.error().os_error == EEXIST) {
    GALLEY_ASSIGN(const FileStat stat, directory.stat(path));
    if (stat.kind == FileKind::kDirectory) return {};
    return fail(ErrorKind::kRefused, "path.not_directory",
                "'" + path.str() + "' exists and is not a directory", path.str());
  }
  if (made.error().os_error != ENOENT) return made;
  GALLEY_TRY(make_directories(directory, path.parent(), mode));
  made = directory.make_directory(path, mode);
  if (!made && made.error().os_error == EEXIST) return {};
  return made;
}

namespace {

Result<void> try_remove_tree(const WritableDirectory& directory, const RelPath& path) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(path));
  if (stat.kind == FileKind::kAbsent) return {};
  if (stat.kind != FileKind::kDirectory) return directory.remove_file(path);
  GALLEY_ASSIGN(const FileStat top, directory.stat(path.parent()));
  if (top.mount != stat.mount) {
    return fail(ErrorKind::kRefused, "path.crosses_mount",
                "'" + path.str() + "' is a mount point; unmount it before it is removed",
                path.str());
  }
  open_to_owner(directory, path, stat.mode);
  GALLEY_ASSIGN(const auto tree, directory.open_writable_directory(path));
  GALLEY_TRY(TreeRemoval(*tree, stat.mount).run());
  return directory.remove_directory(path);
}

}  // namespace

Result<void> remove_tree(const WritableDirectory& directory, const RelPath& path) {
  for (int attempt = 1;; ++attempt) {
    auto removed = try_remove_tree(directory, path);
    const int why = removed ? 0 : removed.error().os_error;
    const bool is_changed = why == ENOENT || why == ENOTEMPTY;  // by another process
    if (!is_changed || attempt == kMostRemovals) return removed;
  }
}

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kRegular:
      return "file";
    case FileKind::kDirectory:
      return "directory";
    case FileKind::kSymlink:
      return "symlink";
    case FileKind::kAbsent:
      return "absent";
    case FileKind::kOther:
      break;
  }
  return "other";
}

Result<void> write_with_holes(WritableFile& file, std::string_view bytes, uint64_t end) {
  size_t written = 0;  // data from here to `at` is written later, in one call
  bool ends_in_hole = false;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view piece = bytes.substr(at, kHoleBytes);
    const size_t next = at + piece.size();
    ends_in_hole = piece.size() == kHoleBytes && is_zero(piece);
    if (ends_in_hole) {
      if (at > written)
        GALLEY_TRY(file.write_at(end + written, bytes.substr(written, at - written)));
      written = next;
    }
    at = next;
  }
  if (bytes.size() > written) return file.write_at(end + written, bytes.substr(written));
  return ends_in_hole ? file.truncate(end + bytes.size()) : Result<void>();
}

Result<std::shared_ptr<const WritableDirectory>> OpenDirectories::at(const RelPath& path) {
  if (path.is_root())
    return std::shared_ptr<const WritableDirectory>(std::shared_ptr<void>(), top_);
  const auto known = open_.find(path);
  if (known != open_.end()) return known->second;
  // Walks are depth first, so the directories in use are soon open again.
  if (open_.size() >= kMaxOpen) open_.clear();
  GALLEY_ASSIGN(auto opened, top_->open_writable_directory(path));
  return open_.emplace(path, std::move(opened)).first->second;
}

Result<std::vector<DirectoryEntry>> OpenDirectories::list(const RelPath& path) {
  GALLEY_ASSIGN(const auto directory, at(path));
  return directory->list();
}

}  // namespace galley
