#include "staging/sandbox/sandbox_denials.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/file_mode.h"
#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kMaxNamed = 3;
constexpr size_t kMaxLines = 1000;
constexpr std::string_view kQuotes = "'\"`";

/// The text of EOVERFLOW. The kernel returns it for a change in a folder whose owner or group the
/// user namespace does not map. Without privileges, only the caller's own user and group are
/// mapped.
constexpr std::string_view kNotMapped = "Value too large for defined data type";
/// The text of EXDEV: overlayfs does not rename a folder that exists in the workspace.
constexpr std::string_view kNotRenamed = "nvalid cross-device link";
constexpr std::string_view kDenied = "ermission denied";

/// Returns the possible file names in a line of a message: texts between colons or between quotes,
/// and single words.
std::vector<std::string> names_in(std::string_view line) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\r')) name.remove_suffix(1);
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

/// Returns the owner of a file, if the caller may access the file but the program may not.
std::optional<std::string> foreign_owner(const std::string& path, const struct stat& root) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return {};
  const bool is_mapped = found.st_uid == root.st_uid && found.st_gid == root.st_gid;
  const bool may_outside = faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0 ||
                           faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  if (is_mapped || !may_outside) return {};
  return fmt::format("{}:{} with mode {:04o}", found.st_uid, found.st_gid,
                     found.st_mode & (kPermissionBits | kSpecialBits));
}

/// The first file of a line that belongs to another user, with its owner.
std::optional<std::string> refused_file(std::string_view line, const RunLocation& where,
                                        const struct stat& root) {
  for (const std::string& name : names_in(line)) {
    const std::string below = where.working_directory.is_root()
                                  ? where.workspace
                                  : where.workspace + "/" + where.working_directory.str();
    const std::string path = name.starts_with('/') ? name : below + "/" + name;
    if (!path.starts_with(where.workspace + "/")) continue;
    if (const auto owner = foreign_owner(path, root)) {
      return "'" + printable_line(name) + "' belongs to " + *owner;
    }
  }
  return {};
}

std::vector<std::string> refused_files(std::string_view said, const RunLocation& where) {
  std::vector<std::string> refused;
  std::set<std::string> known;
  struct stat root {};
  if (stat(where.workspace.c_str(), &root) != 0) return refused;
  size_t lines = 0;
  for (size_t at = said.find(kDenied); at != said.npos && ++lines <= kMaxLines;
       at = said.find(kDenied, at + 1)) {
    const size_t start = at == 0 ? 0 : said.rfind('\n', at) + 1;  // npos + 1 is the beginning
    const size_t end = std::min(said.find('\n', at), said.size());
    const auto file = refused_file(said.substr(start, end - start), where, root);
    if (!file || !known.insert(*file).second) continue;
    if (known.size() > kMaxNamed) break;
    const std::string way_out =
        geteuid() == 0 ? fmt::format(
                             "the sandbox runs what root starts as {}:{}, whom the "
                             "workspace belongs to, without root's rights: chown or chmod "
                             "it, or run galley as its owner",
                             root.st_uid, root.st_gid)
                       : "the sandbox has your primary group only: sg GROUP -c 'galley …'";
    refused.push_back(*file + "; " + way_out);
  }
  return refused;
}

}  // namespace

std::vector<std::string> sandbox_denials(std::string_view said, const RunLocation& where) {
  std::vector<std::string> met;
  if (said.find(kNotMapped) != said.npos) {
    met.emplace_back(
        "a folder that belongs to another group cannot be written in the sandbox, which has your "
        "primary group only; be in the folder's group for the command: "
        "sg GROUP -c 'galley exec -- …'");
  }
  if (said.find(kNotRenamed) != said.npos) {
    met.emplace_back(
        "a folder of the workspace cannot be renamed by one call in the sandbox, as `git mv` does "
        "it; `mv` copies it: mv OLD NEW, then git add -A OLD NEW");
  }
  for (std::string& file : refused_files(said, where)) met.push_back(std::move(file));
  return met;
}

}  // namespace galley
