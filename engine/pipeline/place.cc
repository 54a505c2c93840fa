#include "engine/pipeline/place.h"

#include <cerrno>
#include <optional>

#include "engine/commit/state_directory.h"
#include "engine/pipeline/trust.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

/// The signs that a directory is a root.
struct Marks {
  bool has_git = false;
  bool has_state = false;  ///< a trusted one
  /// A galley.toml, or an untrusted state. Any archive or checkout can contain these.
  bool has_weak_mark = false;
  /// The first of configuration, state and directory that another user owns; empty: none.
  std::string foreign;
  uint32_t foreign_uid = 0;
  uint32_t folder_uid = 0;
  uint32_t git_uid = 0;
};

Result<FileStat> stat_of(const Directory& directory, std::string_view name) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
  return directory.stat(path);
}

Result<Marks> marks_of(const std::string& path) {
  GALLEY_ASSIGN(const auto directory, open_writable_disk_directory(path));
  GALLEY_ASSIGN(const FileStat git, stat_of(*directory, ".git"));
  GALLEY_ASSIGN(const FileStat state, stat_of(*directory, StateDirectory::kName));
  GALLEY_ASSIGN(const FileStat config, stat_of(*directory, kConfigFileName));
  GALLEY_ASSIGN(const FileStat folder, directory->stat(RelPath::root()));
  Marks marks;
  marks.has_git = git.kind != FileKind::kAbsent;
  marks.git_uid = git.uid;
  marks.folder_uid = folder.uid;
  const bool has_config = config.kind != FileKind::kAbsent;
  const bool has_state = state.kind != FileKind::kAbsent;
  const auto check = [&](bool counts, const FileStat& stat, const std::string& name) {
    if (!counts || !marks.foreign.empty() || is_trusted_owner(stat.uid)) return;
    marks.foreign = name;
    marks.foreign_uid = stat.uid;
  };
  const std::string prefix = path == "/" ? path : path + "/";
  check(has_config, config, prefix + std::string(kConfigFileName));
  check(has_state, state, prefix + std::string(StateDirectory::kName));
  check(has_config || has_state, folder, path);
  if (has_state && marks.foreign.empty()) {
    const auto opened = StateDirectory::open(*directory);
    marks.has_state = opened && opened->has_value();
  }
  marks.has_weak_mark = has_config || has_state;
  return marks;
}

std::string owner_text(const std::string& path, uint32_t uid) {
  return "'" + path + "' belongs to another user (" + std::to_string(uid) + ")";
}

std::string way_out(const std::string& root) {
  return "to trust it, add \"" + root + "\" to safe_directories in your own configuration";
}

std::string passed_by(const std::string& path, uint32_t uid, const std::string& root) {
  return owner_text(path, uid) + " and was passed by: " + way_out(root);
}

std::optional<std::string> parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (path == "/" || slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<void> check_not_moved(const Place& place) {
  if (place.tree != nullptr || place.disk->descriptor() < 0) return {};
  const auto opened = place.disk->stat(RelPath::root());
  const auto now = stat_disk_directory(place.path);
  const bool is_same =
      opened && now && opened->inode == now->inode && opened->device == now->device;
  if (is_same) return {};
  return fail(ErrorKind::kIo, "workspace.moved",
              "the folder '" + place.path +
                  "' was moved away or replaced after this program opened it, so nothing is read "
                  "or changed; start the program again",
              place.path);
}

Result<void> check_owner_of_root(const Directory& root, const std::string& path,
                                 const UserConfig& user) {
  GALLEY_ASSIGN(const FileStat stat, root.stat(RelPath::root()));
  if (is_trusted_owner(stat.uid) || is_safe_directory(user, path)) return {};
  return fail(
      ErrorKind::kRefused, "workspace.foreign_owner",
      owner_text(path, stat.uid) + "; nothing is run, staged or committed in it: " + way_out(path),
      path);
}

Result<FoundRoot> find_root(const std::string& start, const UserConfig& user) {
  FoundRoot found{start, {}};
  std::optional<std::string> configured;
  std::optional<Error> refused;
  std::optional<uint32_t> owner;  // of `start`
  for (std::optional<std::string> path = start; path; path = parent_of(*path)) {
    auto seen = marks_of(*path);
    // A directory that this user cannot read is not a root.
    if (!seen && *path != start && seen.error().os_error == EACCES) continue;
    GALLEY_ASSIGN(Marks marks, std::move(seen));
    const bool is_safe = is_safe_directory(user, *path);
    if (!owner) owner = marks.folder_uid;
    // In a tree of the owner of `start`, nothing is changed unasked.
    const bool is_of_one = marks.git_uid == *owner && marks.folder_uid == *owner;
    const bool is_git_trusted = is_safe || is_of_one || is_trusted_owner(marks.git_uid);
    if (marks.has_git && marks.foreign.empty() && !is_git_trusted) {
      marks.has_git = false;
      const std::string git = (*path == "/" ? "" : *path) + "/.git";
      found.notices.push_back(passed_by(git, marks.git_uid, *path));
    }
    const bool is_root = marks.has_git || marks.has_state;
    if (!marks.foreign.empty() && !is_safe) {
      if (*path == start) {
        refused = Error{ErrorKind::kRefused, "workspace.foreign_owner",
                        owner_text(marks.foreign, marks.foreign_uid) +
                            "; nothing is read from it: " + way_out(*path),
                        *path, 0};
        if (is_root) return fail(*refused);
      } else {
        found.notices.push_back(passed_by(marks.foreign, marks.foreign_uid, *path));
      }
      continue;
    }
    if (is_root) {
      found.path = *path;
      found.is_marked = true;
      return found;
    }
    if (marks.has_weak_mark) configured = *path;
  }
  if (configured) found.path = *configured;
  found.is_marked = configured.has_value();
  if (refused && found.path == start) return fail(*refused);
  return found;
}

}  // namespace galley
