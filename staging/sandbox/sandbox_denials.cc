#include "staging/sandbox/sandbox_denials.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/file_mode.h"
#include "base/printable.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr size_t kMaxNamed = 3;
constexpr size_t kMaxLines = 1000;
constexpr std::string_view kQuotes = "'\"`";
constexpr std::string_view kEnds = " :\r";  ///< what may follow a name

/// The text of EOVERFLOW. The kernel returns it for a change of a file, or in a folder, whose owner
/// or group the user namespace does not map. Without privileges, only the caller's own user and
/// group are mapped.
constexpr std::string_view kNotMapped = "Value too large for defined data type";
/// The text of EXDEV: overlayfs does not rename a folder that exists in the workspace.
constexpr std::string_view kNotRenamed = "nvalid cross-device link";
/// What git says if its repository, or objects of it, are missing.
constexpr std::array<std::string_view, 2> kNoRepository = {
    "not a git repository", "unable to normalize alternate object path"};
constexpr size_t kMaxAlternatesBytes = size_t{64} << 10U;
constexpr std::string_view kDenied = "ermission denied";

/// What programs say when they meet a wall that has no name of its own, and what to do.
struct KnownWords {
  std::string_view words;
  std::string_view also;  ///< in the same output; may be empty
  std::string_view remedy;
};
constexpr std::string_view kGitIsReadOnly =
    "commands cannot write the repository (.git is read-only), as git add, commit and stash do: "
    "use galley run, which can keep commits, or run git outside of Galley";
constexpr std::string_view kMemoryIsLimited =
    "memory is limited by sandbox.max_memory_bytes of galley.toml, in exec also by --memory";
constexpr std::string_view kProcessesAreLimited =
    "processes are limited by sandbox.max_processes of galley.toml, in exec also by --processes";
constexpr std::string_view kShadowIsLimited =
    "programs of a sanitizer reserve terabytes of memory, which the limit on memory refuses: set "
    "sandbox.max_memory_bytes = 0 in galley.toml";
constexpr std::array<KnownWords, 10> kKnownWords = {{
    {"git stash", "", kGitIsReadOnly},
    {".lock': Read-only file system", "/.git/", kGitIsReadOnly},
    {"insufficient permission for adding an object", ".git/objects", kGitIsReadOnly},
    {"AddressSanitizer failed to allocate", "", kShadowIsLimited},
    {"ReserveShadowMemoryRange failed", "", kShadowIsLimited},
    {"ThreadSanitizer: ", "failed to ", kShadowIsLimited},
    {"MemoryError", "", kMemoryIsLimited},
    {"std::bad_alloc", "", kMemoryIsLimited},
    {"annot allocate memory", "", kMemoryIsLimited},
    {"ork: Resource temporarily unavailable", "", kProcessesAreLimited},
}};

/// Returns the possible file names in a line of a message: texts between colons or between quotes,
/// and single words.
std::vector<std::string> names_in(std::string_view line) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && kEnds.find(name.back()) != kEnds.npos) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
  };
  for (const char separator : {':', ' '}) {
    for (size_t start = 0; start < line.size();) {
      const size_t end = std::min(line.find(separator, start), line.size());
      add(line.substr(start, end - start));
      start = end + 1;
    }
  }
  for (size_t start = line.find_first_of(kQuotes); start < line.size();) {
    const size_t end = std::min(line.find_first_of(kQuotes, start + 1), line.size());
    add(line.substr(start + 1, end - start - 1));
    start = end;
  }
  return names;
}

std::string owner_text(const struct stat& found) {
  return fmt::format("{}:{} with mode {:04o}", found.st_uid, found.st_gid,
                     found.st_mode & (kPermissionBits | kSpecialBits));
}

/// Whether the program, which has the ids of the workspace if root starts it, may search a folder.
bool may_search(const struct stat& folder, const struct stat& root) {
  const bool is_root = geteuid() == 0;
  if (folder.st_uid == (is_root ? root.st_uid : geteuid())) return (folder.st_mode & S_IXUSR) != 0;
  if (folder.st_gid == (is_root ? root.st_gid : getegid())) return (folder.st_mode & S_IXGRP) != 0;
  return (folder.st_mode & S_IXOTH) != 0;
}

/// The topmost folder on the way to a path that is closed to the program; otherwise the path.
std::string obstacle_at(const std::string& path, const std::string& workspace,
                        const struct stat& root) {
  for (size_t slash = path.find('/', workspace.size() + 1); slash != path.npos;
       slash = path.find('/', slash + 1)) {
    struct stat folder {};
    const std::string at = path.substr(0, slash);
    if (stat(at.c_str(), &folder) == 0 && !may_search(folder, root)) return at;
  }
  return path;
}

/// Returns the owner of a file, if the caller may access the file but the program may not.
std::optional<std::string> foreign_owner(const std::string& path, const struct stat& root) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  const bool is_mapped = found.st_uid == root.st_uid && found.st_gid == root.st_gid;
  const bool may_outside = faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0 ||
                           faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  if (is_mapped || !may_outside) return {};
  return owner_text(found);
}

std::string folder_of(const RunLocation& where) {
  const RelPath& place = where.working_directory;
  return place.is_root() ? where.workspace : where.workspace + "/" + place.str();
}

/// The path of a name, if it is below the workspace; else empty. Also empty if a link or `..` is in
/// it, which may lead to a file that the program must not know of.
std::string path_of(const std::string& name, const RunLocation& where) {
  const std::string plain = name.starts_with("./") ? name.substr(2) : name;
  std::string path = plain.starts_with('/') ? plain : folder_of(where) + "/" + plain;
  if (!path.starts_with(where.workspace + "/") || normalized_path(path) != path) return "";
  for (size_t slash = where.workspace.size(); slash != path.npos;) {
    slash = path.find('/', slash + 1);
    struct stat found {};
    const bool is_there = lstat(path.substr(0, slash).c_str(), &found) == 0;
    if (is_there && S_ISLNK(found.st_mode)) return "";
  }
  return path;
}

std::string way_out(const struct stat& root) {
  if (geteuid() != 0) return "; the sandbox has your primary group only: sg GROUP -c 'galley …'";
  return fmt::format(
      "; the sandbox runs what root starts as {}:{}, whom the workspace belongs to, without root's "
      "rights: chown or chmod it, or run galley as its owner",
      root.st_uid, root.st_gid);
}

/// The first file of a line that belongs to another user, with its owner and the remedy.
std::optional<std::string> denied_file(std::string_view line, const RunLocation& where,
                                       const struct stat& root) {
  for (const std::string& name : names_in(line)) {
    const std::string path = path_of(name, where);
    if (path.empty()) continue;
    const std::string at = obstacle_at(path, where.workspace, root);
    // The name ends as the path does.
    const std::string shown =
        name.substr(0, name.size() - std::min(name.size(), path.size() - at.size()));
    if (const auto owner = foreign_owner(at, root)) {
      return "'" + printable_line(shown) + "' belongs to " + *owner + way_out(root);
    }
  }
  return {};
}

/// The first file of a line, or folder above it, whose owner or group the user namespace does not
/// map. Its first change copies it, together with its owner.
std::optional<std::string> unmapped_file(std::string_view line, const RunLocation& where,
                                         const struct stat& root) {
  const uid_t user = geteuid() == 0 ? root.st_uid : geteuid();
  const gid_t group = geteuid() == 0 ? root.st_gid : getegid();
  const std::string below = folder_of(where) + "/";
  for (const std::string& name : names_in(line)) {
    const std::string named = path_of(name, where);
    if (named.empty()) continue;
    const auto inside = RelPath::parse(named.substr(where.workspace.size() + 1));
    for (RelPath at = inside ? *inside : RelPath::root(); !at.is_root(); at = at.parent()) {
      const std::string path = where.workspace + "/" + at.str();
      struct stat found {};
      if (lstat(path.c_str(), &found) != 0) continue;
      if (found.st_uid == user && found.st_gid == group) continue;
      const std::string shown =
          printable_line(path.starts_with(below) ? path.substr(below.size()) : path);
      const std::string text = "'" + shown + "' belongs to " + owner_text(found);
      if (geteuid() == 0 || found.st_uid == user) return text + way_out(root);
      const std::string why =
          text +
          "; the sandbox cannot write what another user owns: replace it by a copy, which "
          "is yours";
      constexpr std::string_view kPlain =
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
      // Another user may have chosen the name, and a person pastes the line into a shell.
      const bool is_plain =
          shown.find_first_not_of(kPlain) == shown.npos && !shown.starts_with('-');
      if (!is_plain) return why;
      return why + fmt::format(": mv {0} {0}.old && cp -r {0}.old {0}", shown);
    }
  }
  return {};
}

bool is_folder_at(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// The folder outside of the workspace that has its repository or objects of it: the target of a
/// link, or an alternate (gitrepository-layout(5)). Empty if there is none.
std::string git_folder_outside(const std::string& workspace) {
  const std::string objects = workspace + "/.git/objects";
  std::string folder;
  for (const std::string& place : {workspace + "/.git", objects}) {
    struct stat found {};
    const bool is_link = lstat(place.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
    if (is_link && folder.empty()) folder = place;
  }
  const auto alternates = read_host_file(objects + "/info/alternates", kMaxAlternatesBytes);
  if (folder.empty() && alternates && !alternates->empty()) {
    folder = alternates->substr(0, alternates->find('\n'));
    if (!folder.starts_with('/')) folder = objects + "/" + folder;
  }
  if (folder.empty()) return folder;
  const auto real = absolute_path(folder);
  if (!real || real->starts_with(workspace + "/")) return {};
  // A link or list may come from an archive. Nobody should be told to show another folder.
  const bool is_of_git = is_folder_at(*real + "/objects") || is_folder_at(*real + "/pack");
  return is_of_git ? *real : std::string();
}

using FileSearch = std::optional<std::string>(std::string_view line, const RunLocation& where,
                                              const struct stat& root);

/// Applies `search` to the lines with this text.
std::vector<std::string> refused_files(std::string_view said, std::string_view sign,
                                       const RunLocation& where, FileSearch* search) {
  std::vector<std::string> refused;
  struct stat root {};
  if (stat(where.workspace.c_str(), &root) != 0) return refused;
  size_t lines = 0;
  for (size_t at = said.find(sign); at != said.npos && ++lines <= kMaxLines;
       at = said.find(sign, at + 1)) {
    const size_t start = at == 0 ? 0 : said.rfind('\n', at) + 1;  // npos + 1 is the beginning
    const size_t end = std::min(said.find('\n', at), said.size());
    std::string line(said.substr(start, end - start));
    line.erase(at - start, sign.size());  // its words are not names
    auto file = search(line, where, root);
    if (!file || std::find(refused.begin(), refused.end(), *file) != refused.end()) continue;
    refused.push_back(*std::move(file));
    if (refused.size() == kMaxNamed) break;
  }
  return refused;
}

}  // namespace

std::vector<std::string> sandbox_denials(std::string_view said, const RunLocation& where) {
  std::vector<std::string> met = refused_files(said, kNotMapped, where, unmapped_file);
  if (met.empty() && said.find(kNotMapped) != said.npos) {
    met.emplace_back(
        "a folder that belongs to another group cannot be written in the sandbox, which has your "
        "primary group only; be in the folder's group for the command: "
        "sg GROUP -c 'galley exec -- …'");
  }
  const auto not_linked = [](std::string_view line, const RunLocation& /*where*/,
                             const struct stat& /*root*/) -> std::optional<std::string> {
    if (line.find("/proc/") != line.npos || line.find("link '") != line.npos) return {};
    return std::string(line);
  };
  if (!refused_files(said, kNotRenamed, where, not_linked).empty()) {
    met.emplace_back(
        "a folder of the workspace cannot be renamed by one call in the sandbox, as `git mv` does "
        "it; `mv` copies it: mv OLD NEW, then git add -A OLD NEW");
  }
  const bool lacks_repository =
      std::any_of(kNoRepository.begin(), kNoRepository.end(),
                  [&](std::string_view words) { return said.find(words) != said.npos; });
  const std::string folder = lacks_repository ? git_folder_outside(where.workspace) : std::string();
  if (!folder.empty()) {
    met.push_back("git needs '" + printable_line(folder) +
                  "', which the sandbox does not show: add it to sandbox.readable of galley.toml");
  }
  for (const KnownWords& known : kKnownWords) {
    const bool is_said = said.find(known.words) != said.npos && said.find(known.also) != said.npos;
    const bool is_new = std::find(met.begin(), met.end(), known.remedy) == met.end();
    if (is_said && is_new) met.emplace_back(known.remedy);
  }
  for (std::string& file : refused_files(said, kDenied, where, denied_file)) {
    met.push_back(std::move(file));
  }
  return met;
}

}  // namespace galley
