#include "staging/fs/replace_file.h"

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "base/file_mode.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

Result<RelPath> fresh_name(std::string_view name) {
  return RelPath::parse(std::string(name) + ".new");
}

/// How many processes can write one file at the same time.
constexpr int kScratchNames = 100;
constexpr std::chrono::milliseconds kLockPause{1};
constexpr std::chrono::milliseconds kNoWait{0};

/// Whether this file, which was locked after it was opened, still has its name. Only the holder of
/// the lock takes the name away.
Result<bool> has_name(const WritableDirectory& directory, const RelPath& name, File& file) {
  GALLEY_ASSIGN(const FileStat opened, file.stat());
  GALLEY_ASSIGN(const FileStat named, directory.stat(name));
  return named.kind == FileKind::kRegular && named.inode == opened.inode &&
         named.device == opened.device;
}

/// Removes a file that no live process holds. Returns whether the name is free.
Result<bool> remove_leftover(const WritableDirectory& directory, const RelPath& name) {
  auto left = directory.open_writable_file(name, OpenMode::kReadWrite);
  const bool is_read_only = !left && left.error().os_error == EACCES;
  if (is_read_only) left = directory.open_writable_file(name, OpenMode::kRead);
  if (!left && left.error().kind == ErrorKind::kNotFound) return true;  // renamed meanwhile
  if (!left) return fail(left.error());
  GALLEY_ASSIGN(const bool is_ours, take_lock(**left, kNoWait));
  if (!is_ours) return false;
  GALLEY_ASSIGN(const bool is_left, has_name(directory, name, **left));
  if (!is_left) return false;
  GALLEY_TRY(directory.remove_file(name));
  return true;
}

}  // namespace

Result<bool> take_lock(File& file, std::chrono::milliseconds longest) {
  for (std::chrono::milliseconds waited{0};; waited += kLockPause) {
    auto taken = file.try_lock(LockMode::kExclusive);
    const int code = taken ? 0 : taken.error().os_error;
    if (code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS) return true;
    if (!taken || *taken || waited >= longest) return taken;
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<void> clear_scratch_name(const WritableDirectory& directory, const RelPath& name) {
  GALLEY_ASSIGN(const FileStat there, directory.stat(name));
  const bool is_ours = there.kind == FileKind::kRegular && is_own_user(there.uid);
  if (there.kind == FileKind::kAbsent || is_ours) return {};
  return remove_tree(directory, name);
}

Result<std::optional<ScratchFile>> make_only_scratch(const WritableDirectory& directory,
                                                     const RelPath& name, uint32_t mode) {
  auto file = directory.open_writable_file(name, OpenMode::kCreateNew, mode);
  if (!file && file.error().os_error == EEXIST) {
    GALLEY_ASSIGN(const bool is_free, remove_leftover(directory, name));
    if (!is_free) return std::nullopt;
    file = directory.open_writable_file(name, OpenMode::kCreateNew, mode);
    if (!file && file.error().os_error == EEXIST) return std::nullopt;
  }
  if (!file) return fail(file.error());
  // Before this lock, another process may have taken the file for a leftover.
  GALLEY_ASSIGN(const bool is_ours, take_lock(**file, kNoWait));
  if (!is_ours) return std::nullopt;
  GALLEY_ASSIGN(const bool is_named, has_name(directory, name, **file));
  if (!is_named) return std::nullopt;
  return ScratchFile{name, std::move(*file)};
}

Result<ScratchFile> make_scratch(const WritableDirectory& directory, const std::string& before,
                                 const std::string& after, uint32_t mode) {
  for (int n = 0; n < kScratchNames; ++n) {
    const std::string number = n == 0 ? "" : "." + std::to_string(n);
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(before + number + after));
    GALLEY_ASSIGN(auto made, make_only_scratch(directory, name, mode));
    if (made) return *std::move(made);
  }
  return fail(os_error(EEXIST, "cannot make a new file", before + after));
}

Result<void> replace_shared_file(const WritableDirectory& directory, std::string_view name,
                                 std::string_view content) {
  GALLEY_ASSIGN(const RelPath target, RelPath::parse(name));
  GALLEY_ASSIGN(const ScratchFile fresh,
                make_scratch(directory, std::string(name), ".new", kPrivateFile));
  GALLEY_TRY(fresh.file->write_at(0, content));
  return directory.rename(fresh.name, directory, target, RenameMode::kReplace);
}

Result<void> replace_file(const WritableDirectory& directory, std::string_view name,
                          std::string_view content) {
  GALLEY_ASSIGN(const RelPath target, RelPath::parse(name));
  GALLEY_ASSIGN(const RelPath fresh, fresh_name(name));
  GALLEY_ASSIGN(const FileStat replaced, directory.stat(target));
  GALLEY_ASSIGN(const auto file,
                directory.open_writable_file(fresh, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  // ext4 flushes a file at once if it replaces another one and lacks reserved space. A file that
  // replaces nothing gets no reservation: most such files are removed before write-back.
  const bool replaces = replaced.kind != FileKind::kAbsent;
  if (replaces && !content.empty()) (void)file->allocate(content.size());
  GALLEY_TRY(file->write_at(0, content));
  return directory.rename(fresh, directory, target, RenameMode::kReplace);
}

Result<void> swap_file(const WritableDirectory& directory, std::string_view name,
                       std::string_view content) {
  GALLEY_ASSIGN(const RelPath target, RelPath::parse(name));
  GALLEY_ASSIGN(const RelPath fresh, fresh_name(name));
  GALLEY_ASSIGN(auto file,
                directory.open_writable_file(fresh, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(FileStat stat, file->stat());
  if (stat.nlink > 1) {
    GALLEY_TRY(directory.remove_file(fresh));
    GALLEY_ASSIGN(file, directory.open_writable_file(fresh, OpenMode::kCreateNew, kPrivateFile));
    stat.size = 0;
  }
  GALLEY_TRY(file->write_at(0, content));
  if (content.size() < stat.size) GALLEY_TRY(file->truncate(content.size()));
  // After an exchange ext4 does not flush either file at once, unlike after a replacement.
  if (directory.rename(fresh, directory, target, RenameMode::kExchange)) return {};
  return directory.rename(fresh, directory, target, RenameMode::kReplace);
}

Result<std::optional<std::string>> read_own_file(const Directory& directory, const RelPath& path,
                                                 uint64_t most) {
  auto file = directory.open_file(path);
  if (!file) {
    const Error& error = file.error();
    if (error.kind == ErrorKind::kNotFound || error.os_error == EACCES) return std::nullopt;
    return fail(error);
  }
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
  if (!is_trusted_owner(stat.uid) || stat.size > most) return std::nullopt;
  GALLEY_ASSIGN(std::string text, (*file)->read_at(0, stat.size));
  return text;
}

}  // namespace galley
