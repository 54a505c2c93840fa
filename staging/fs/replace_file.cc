#include "staging/fs/replace_file.h"

#include <cerrno>
#include <memory>
#include <string>

#include "base/file_mode.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

Result<RelPath> fresh_name(std::string_view name) {
  return RelPath::parse(std::string(name) + ".new");
}

}  // namespace

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
