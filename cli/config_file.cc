#include "cli/config_file.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateFolder = 0700;
constexpr uint32_t kProjectFolder = 0755;
constexpr const char* kKeptMark = "user.galley.kept";

std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

Result<void> fill(WritableFile& file, const std::string& text, const FileStat& like) {
  GALLEY_TRY(file.write_at(0, text));
  GALLEY_ASSIGN(const FileStat made, file.stat());
  const bool is_other_owner =
      like.kind == FileKind::kRegular && (made.uid != like.uid || made.gid != like.gid);
  if (is_other_owner) GALLEY_TRY(file.set_owner(like.uid, like.gid));
  GALLEY_TRY(file.set_mode(like.mode));
  return file.sync();
}

/// Makes the new file, with one name for all processes: the holder of it is the only one that
/// compares and replaces the file. Nothing if another process holds it.
Result<std::optional<ScratchFile>> make_new(const WritableDirectory& directory,
                                            const RelPath& name) {
  GALLEY_ASSIGN(const RelPath last, RelPath::parse(".galley-new-" + std::string(name.name())));
  GALLEY_ASSIGN(const RelPath fresh, name.parent().join(last));
  GALLEY_TRY(clear_scratch_name(directory, fresh));
  return make_only_scratch(directory, fresh, kPrivateFile);
}

}  // namespace

Result<ConfigFile> ConfigFile::read(const std::string& path, const std::string& project) {
  std::string folder = project;
  std::string name = project.empty() ? "" : path.substr(project.size() + 1);
  if (project.empty()) {
    const auto real = absolute_path(path);
    std::tie(folder, name) = folder_and_name(real ? *real : path);
  }
  GALLEY_ASSIGN(RelPath rel, RelPath::parse(name));
  ConfigFile file(std::move(folder), std::move(rel), !project.empty());
  GALLEY_TRY(file.look());
  return file;
}

Result<void> ConfigFile::look() {
  const auto directory = open_disk_directory(folder_);
  if (!directory && directory.error().kind == ErrorKind::kNotFound) return {};
  if (!directory) return fail(directory.error());
  GALLEY_ASSIGN(stat_, (*directory)->stat(name_));
  if (stat_.kind == FileKind::kAbsent) return {};
  if (stat_.kind == FileKind::kSymlink && !is_in_project_) {
    return fail(ErrorKind::kRefused, "agents.not_plain",
                path() +
                    " is a link to a file that does not exist: make that file, or remove the "
                    "link",
                path());
  }
  if (stat_.kind != FileKind::kRegular || stat_.nlink > 1) {
    const std::string what = stat_.kind == FileKind::kSymlink   ? "a link"
                             : stat_.kind == FileKind::kRegular ? "a file of several names"
                                                                : "no file";
    return fail(ErrorKind::kRefused, "agents.not_plain",
                path() + " is " + what + ", which is not changed" +
                    (is_in_project_ ? " inside of a project" : "") +
                    "; put a file of its own there",
                path());
  }
  if (!is_own_user(stat_.uid)) {
    return fail(ErrorKind::kRefused, "agents.foreign_owner",
                path() + " belongs to another user (" + std::to_string(stat_.uid) +
                    "), so it is not changed",
                path());
  }
  GALLEY_ASSIGN(text_, read_file(**directory, name_, limits::kMaxConfigBytes));
  return {};
}

Result<void> ConfigFile::replace(const std::optional<std::string>& text, uint32_t mode) const {
  return write(text, mode, text_);
}

Result<void> ConfigFile::restore(const std::optional<std::string>& written) const {
  return write(text_, stat_.mode, written);
}

Result<void> ConfigFile::write(const std::optional<std::string>& text, uint32_t mode,
                               const std::optional<std::string>& expected) const {
  auto directory = open_writable_disk_directory(folder_);
  const bool is_missing = !directory && directory.error().kind == ErrorKind::kNotFound;
  if (is_missing) directory = make_disk_directory(folder_, kPrivateFolder);
  if (!directory) return fail(directory.error());
  const WritableDirectory& within = **directory;
  if (text && !name_.parent().is_root()) {
    GALLEY_TRY(make_directories(within, name_.parent(), kProjectFolder));
  }
  GALLEY_ASSIGN(const auto fresh, make_new(within, name_));
  if (!fresh) return fail(changed());
  const Result<void> made = replace_under_lock(within, *fresh, text, mode, expected);
  if (!made || !text) (void)within.remove_file(fresh->name);
  return made ? within.sync() : made;
}

Result<void> ConfigFile::replace_under_lock(const WritableDirectory& within,
                                            const ScratchFile& fresh,
                                            const std::optional<std::string>& text, uint32_t mode,
                                            const std::optional<std::string>& expected) const {
  ConfigFile now(folder_, name_, is_in_project_);
  GALLEY_TRY(now.look());
  if (now.text_ != expected) return fail(changed());
  if (!text) return within.remove_file(name_);
  FileStat like = now.stat_;
  if (like.kind == FileKind::kAbsent) like.mode = mode;
  GALLEY_TRY(fill(*fresh.file, *text, like));
  return within.rename(fresh.name, within, name_, RenameMode::kReplace);
}

Error ConfigFile::changed() const {
  return {ErrorKind::kConflict, "agents.changed",
          path() + " changed while this command ran, so it was not written; run the command again",
          path(), 0};
}

bool has_folder(const std::string& folder) { return open_disk_directory(folder).has_value(); }

bool is_empty_folder(const std::string& folder) {
  const auto directory = open_disk_directory(folder);
  const auto entries = directory ? (*directory)->list() : fail(directory.error());
  return entries && entries->empty();
}

void keep_when_empty(const std::string& folder) {
  const auto [parent, name] = folder_and_name(folder);
  const auto directory = open_writable_disk_directory(parent);
  const auto path = RelPath::parse(name);
  // Without attributes of the file system, the folder is removed when it is empty again.
  if (directory && path) (void)(*directory)->set_attribute(*path, {kKeptMark, "1"});
}

void remove_if_empty(const std::string& folder) {
  const auto [parent, name] = folder_and_name(folder);
  const auto directory = open_writable_disk_directory(parent);
  const auto path = RelPath::parse(name);
  if (!directory || !path || !is_empty_folder(folder)) return;
  const auto attributes = (*directory)->attributes(*path);
  const bool is_kept = attributes && std::any_of(attributes->begin(), attributes->end(),
                                                 [](const ExtendedAttribute& attribute) {
                                                   return attribute.name == kKeptMark;
                                                 });
  (void)(is_kept ? (*directory)->remove_attribute(*path, kKeptMark)
                 : (*directory)->remove_directory(*path));
}

}  // namespace galley
