#include "staging/sandbox/resolve_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/shell_word.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/host_folders.h"

namespace galley {
namespace {

bool is_program(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

bool is_within(std::string_view path, std::string_view root) {
  return path.size() > root.size() && path.substr(0, root.size()) == root &&
         path[root.size()] == '/';
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Resolves `.` and `..` textually, which is correct below a canonical directory without links.
std::string folded(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
    start = end + 1;
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

/// The absolute directories of the path.
std::vector<std::string> directories_of(std::string_view search_path) {
  std::vector<std::string> directories;
  for (size_t start = 0; start < search_path.size();) {
    const size_t end = std::min(search_path.find(':', start), search_path.size());
    const std::string_view directory = search_path.substr(start, end - start);
    start = end + 1;
    if (directory.starts_with('/')) directories.emplace_back(directory);
  }
  return directories;
}

/// Returns the error for a file of the host that no command can execute. As in shells, the error
/// tells whether the file exists, but only in folders that every command sees.
Error not_a_program(const std::string& path) {
  struct stat found {};
  if (!is_in_view(real_path(path), {}) || stat(path.c_str(), &found) != 0) {
    return {ErrorKind::kNotFound, "sandbox.program_not_found",
            "'" + path + "' is not a program that can be run", "", ENOENT};
  }
  const int why = S_ISDIR(found.st_mode) ? EISDIR : EACCES;
  return {ErrorKind::kRefused, "sandbox.program_not_runnable",
          "'" + path + "' cannot be executed: " + std::strerror(why), "", why};
}

Result<ResolvedProgram> search(std::string_view name, std::string_view search_path) {
  for (const std::string& directory : directories_of(search_path)) {
    const std::string path = directory + "/" + std::string(name);
    if (is_program(path)) return ResolvedProgram{path, real_path(path), false};
  }
  for (const std::string& directory : directories_of(search_path)) {
    const std::string path = directory + "/" + std::string(name);
    struct stat found {};
    const bool is_file = is_in_view(real_path(path), {}) && stat(path.c_str(), &found) == 0 &&
                         S_ISREG(found.st_mode);
    if (is_file) return not_a_program(path);
  }
  if (name.find(' ') != std::string_view::npos) {
    return fail(ErrorKind::kNotFound, "sandbox.program_not_found",
                "no program has the name '" + std::string(name) +
                    "'; give its words one by one, or run a line of the shell: sh -c " +
                    shell_word(name));
  }
  const std::string hidden = hidden_program(name, search_path);
  return fail(
      ErrorKind::kNotFound, "sandbox.program_not_found",
      "no program '" + std::string(name) + "' in " + std::string(search_path) + "; " +
          (hidden.empty() ? "install it, or name it by its path" : visibility_hint(hidden)));
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(' ', start), text.size());
    if (end > start) out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

}  // namespace

Result<ResolvedProgram> resolve_program(std::string_view name, std::string_view search_path,
                                        const std::string& workspace,
                                        const RelPath& working_directory) {
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "sandbox.bad_command",
                "the command names no program; give at least one word without NUL bytes");
  }
  if (name.find('/') == std::string_view::npos) return search(name, search_path);
  std::string path(name);
  if (name.front() != '/') {
    path = workspace;
    if (!working_directory.is_root()) path += "/" + working_directory.str();
    path += "/" + std::string(name);
  }
  path = folded(path);
  if (is_within(path, workspace)) return ResolvedProgram{path, path, true};
  if (is_program(path)) return ResolvedProgram{path, real_path(path), false};
  return not_a_program(path);
}

std::vector<ResolvedProgram> list_programs(std::string_view search_path, std::string_view name) {
  std::vector<ResolvedProgram> found;
  const auto add = [&found](const std::string& path) {
    if (is_program(path)) found.push_back({path, real_path(path), false});
  };
  for (const std::string& directory : directories_of(search_path)) {
    if (!name.empty()) {
      add(directory + "/" + std::string(name));
      continue;
    }
    const auto opened = open_disk_directory(directory);
    const auto entries = opened ? (*opened)->list() : Result<std::vector<DirectoryEntry>>();
    if (!entries) continue;  // not every host has /usr/local/sbin
    for (const DirectoryEntry& entry : *entries) add(directory + "/" + entry.name);
  }
  return found;
}

std::string real_program_path(const std::string& path) { return real_path(folded(path)); }

ProgramNames names_of_program(const std::string& real, std::string_view search_path) {
  ProgramNames known{{real}, true};
  struct stat wanted {};
  if (stat(real.c_str(), &wanted) != 0 || wanted.st_nlink < 2) return known;
  for (const ResolvedProgram& program : list_programs(search_path)) {
    struct stat found {};
    const bool is_same = stat(program.real.c_str(), &found) == 0 && found.st_dev == wanted.st_dev &&
                         found.st_ino == wanted.st_ino;
    auto& names = known.names;
    if (is_same && std::find(names.begin(), names.end(), program.real) == names.end()) {
      names.push_back(program.real);
    }
  }
  known.is_complete = known.names.size() >= wanted.st_nlink;
  return known;
}

bool is_multi_call(std::string_view real) {
  constexpr std::array<std::string_view, 4> kKnown = {"busybox", "toybox", "coreutils", "rustup"};
  return std::find(kKnown.begin(), kKnown.end(), last_component(real)) != kKnown.end();
}

bool command_matches(std::string_view rule, const ResolvedProgram& program,
                     const std::vector<std::string>& argv) {
  const auto wanted = words(rule);
  if (wanted.empty() || wanted.size() > argv.size()) return false;
  const std::string_view first = wanted.front();
  const bool is_program =
      first == "*" || first == argv.front() || first == program.path || first == program.real ||
      first == last_component(program.path) || first == last_component(program.real) ||
      (first.ends_with('/') && is_within(program.real, first.substr(0, first.size() - 1)));
  if (!is_program) return false;
  for (size_t i = 1; i < wanted.size(); ++i) {
    if (wanted[i] != argv[i]) return false;
  }
  return true;
}

}  // namespace galley
