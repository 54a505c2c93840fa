#include "staging/sandbox/host_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <functional>

#include "staging/fs/host_file.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

/// The folder of a toolchain in a home, and the variable that names this folder.
struct Toolchain {
  std::string_view folder;  ///< relative to the home
  const char* variable;     ///< null: not needed
};
constexpr std::array<Toolchain, 12> kToolchains = {{{".cargo", "CARGO_HOME"},
                                                    {".rustup", "RUSTUP_HOME"},
                                                    {".pyenv", "PYENV_ROOT"},
                                                    {".rbenv", "RBENV_ROOT"},
                                                    {".nvm", "NVM_DIR"},
                                                    {".volta", "VOLTA_HOME"},
                                                    {".bun", "BUN_INSTALL"},
                                                    {".deno", nullptr},
                                                    {".asdf", "ASDF_DATA_DIR"},
                                                    {".sdkman", "SDKMAN_DIR"},
                                                    {"go", "GOPATH"},
                                                    {".local/share/uv", nullptr}}};

constexpr std::array<const char*, 8> kCredentials = {
    "credentials", "credentials.toml", ".netrc",           ".npmrc",
    ".pypirc",     "settings.xml",     ".git-credentials", "gradle.properties"};

bool is_at_or_below_folder(std::string_view path, std::string_view folder) {
  return path.substr(0, folder.size()) == folder &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_in_one(std::string_view path, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return is_at_or_below_folder(path, folder);
  });
}

std::string own_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// The absolute folders of this process's PATH.
std::vector<std::string> own_path() {
  std::vector<std::string> folders;
  const std::string all = own_variable("PATH");
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find(':', start), all.size());
    if (end > start && all[start] == '/') folders.push_back(all.substr(start, end - start));
    start = end + 1;
  }
  return folders;
}

/// Looks a path up part by part, as the kernel does, and returns it without links. `see` is called
/// with each part, also those of the targets of links, and with what is then looked up below it.
std::string look_up(std::string rest,
                    const std::function<void(const std::string&, const std::string&)>& see) {
  constexpr int kMaxLinks = 40;  // as in the kernel
  std::string real;
  for (int links = 0;;) {
    const size_t begin = rest.find_first_not_of('/');
    if (begin == std::string::npos) return real;
    const size_t end = std::min(rest.find('/', begin), rest.size());
    const std::string name = rest.substr(begin, end - begin);
    rest.erase(0, end);
    while (rest.ends_with("/") || rest.ends_with("/.")) rest.resize(rest.rfind('/'));
    if (name == ".") continue;
    if (name == "..") {
      real.resize(real.empty() ? 0 : real.rfind('/'));
      continue;
    }
    const std::string at = real + "/" + name;
    see(at, rest);
    char target[PATH_MAX];
    const ssize_t size = readlink(at.c_str(), target, sizeof target);
    const bool is_link = size > 0 && ++links <= kMaxLinks;
    if (!is_link) real = at;
    if (is_link && target[0] == '/') real.clear();
    if (is_link) rest.insert(0, target, static_cast<size_t>(size));
  }
}

bool is_there(const std::string& path, mode_t kind) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == kind;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string with_tilde(const std::string& path, const std::string& home) {
  const bool is_in_home = !home.empty() && is_at_or_below_folder(path, home);
  return is_in_home ? "~" + path.substr(home.size()) : path;
}

/// Returns the folder to make readable for one path of a program.
std::string folder_for(const std::string& program, const std::string& home) {
  for (const Toolchain& toolchain : kToolchains) {
    const std::string folder = home + "/" + std::string(toolchain.folder);
    if (!home.empty() && is_at_or_below_folder(program, folder)) return folder;
  }
  // A program of npm loads the packages next to its own.
  constexpr std::string_view kPackages = "/node_modules";
  const size_t packages = program.find(std::string(kPackages) + "/");
  if (packages != std::string::npos) return program.substr(0, packages + kPackages.size());
  const std::string folder = parent_of(program);
  const std::string above = parent_of(folder);
  const bool is_shared = above.empty() || above == home || above == home + "/.local";
  return folder.ends_with("/bin") && !is_shared ? above : folder;
}

}  // namespace

std::string home_folder() {
  std::string home = own_variable("HOME");
  while (home.size() > 1 && home.ends_with('/')) home.pop_back();
  return home.starts_with('/') && home.size() > 1 ? home : std::string();
}

std::string private_home() {
  const std::string home = home_folder();
  const bool is_plain = normalized_path(home) == home;
  const bool is_taken = is_in_view(home, {}) || is_in_one(home, {"/proc", "/dev", "/sys"});
  return home.empty() || !is_plain || is_taken ? "/tmp/home" : home;
}

std::string program_search_path(const std::vector<std::string>& readable) {
  std::string path;
  const auto add = [&path](std::string_view folder) {
    const std::string known = ":" + path + ":";
    if (known.find(":" + std::string(folder) + ":") != known.npos) return;
    path.append(path.empty() ? "" : ":").append(folder);
  };
  const std::vector<std::string> own = own_path();
  for (const std::string& folder : own) {
    if (is_in_one(folder, readable)) add(folder);
  }
  path.append(path.empty() ? "" : ":").append(kProgramPath);
  for (const std::string& folder : own) {
    if (folder.starts_with("/usr/") || folder.starts_with("/opt/")) add(folder);
  }
  return path;
}

std::vector<std::string> search_folders_in(const std::string& place) {
  std::vector<std::string> found;
  for (const std::string& folder : own_path()) {
    // The first part that is in `place`: a program that writes there can also replace it.
    std::string first;
    const std::string real = look_up(folder, [&](const std::string& at, const std::string& rest) {
      if (first.empty() && at.starts_with(place + "/")) first = at + rest;
    });
    if (!first.empty()) found.push_back(first);
    if (first != real && (real + "/").starts_with(place + "/")) found.push_back(real);
  }
  return found;
}

bool is_in_view(std::string_view path, const std::vector<std::string>& readable) {
  return std::any_of(
             kSystemFolders.begin(), kSystemFolders.end(),
             [&](std::string_view folder) { return is_at_or_below_folder(path, folder); }) ||
         is_in_one(path, readable);
}

std::string hidden_program(std::string_view name, std::string_view search_path) {
  if (name.empty() || name.find('/') != name.npos) return {};
  if (!list_programs(search_path, name).empty()) return {};
  for (const std::string& folder : own_path()) {
    const auto found = list_programs(folder, name);
    if (!found.empty()) return found.front().path;
  }
  return {};
}

std::vector<std::string> folders_of_program(const std::string& program) {
  const std::string home = home_folder();
  std::vector<std::string> folders;
  const auto add = [&](const std::string& folder) {
    const std::string shown = with_tilde(folder, home);
    if (std::find(folders.begin(), folders.end(), shown) == folders.end()) folders.push_back(shown);
  };
  for (const std::string& place : {program, real_program_path(program)}) {
    if (!is_in_view(place, {})) add(folder_for(place, home));
  }
  // cargo and rustc in ~/.cargo only start the toolchains of rustup.
  const bool is_rust = std::find(folders.begin(), folders.end(), "~/.cargo") != folders.end();
  if (is_rust && is_there(home + "/.rustup", S_IFDIR)) add(home + "/.rustup");
  return folders;
}

std::string visibility_hint(const std::string& program) {
  const std::string home = home_folder();
  std::string list;
  for (const std::string& folder : folders_of_program(program)) {
    if (folder == "~" || (home + "/").starts_with(folder + "/")) {
      return "found at " + program +
             ", which is not visible inside the sandbox; its folder holds the home, so copy it "
             "into the workspace";
    }
    list += (list.empty() ? "\"" : ", \"") + folder + "\"";
  }
  return "found at " + program +
         ", which is not visible inside the sandbox; add to galley.toml under [sandbox]: "
         "readable = [" +
         list + "], then: galley trust";
}

std::map<std::string, std::string> toolchain_environment(const std::vector<std::string>& readable) {
  std::map<std::string, std::string> all;
  const std::string home = home_folder();
  for (const Toolchain& toolchain : kToolchains) {
    if (toolchain.variable == nullptr) continue;
    const std::string own = own_variable(toolchain.variable);
    const std::string usual = home + "/" + std::string(toolchain.folder);
    if (!own.empty() && is_in_one(own, readable)) {
      all[toolchain.variable] = own;
    } else if (!home.empty() && is_in_one(usual, readable) && is_there(usual, S_IFDIR)) {
      all[toolchain.variable] = usual;
    }
  }
  return all;
}

std::vector<std::string> credentials_in(const std::vector<std::string>& readable) {
  std::vector<std::string> files;
  for (const std::string& folder : readable) {
    for (const char* name : kCredentials) {
      std::string file = folder + "/" + name;
      if (is_there(file, S_IFREG)) files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<std::string> existing_folders(const std::vector<std::string>& folders) {
  std::vector<std::string> existing;
  for (const std::string& folder : folders) {
    if (!is_there(folder, S_IFDIR)) continue;  // not every machine has every toolchain
    const std::string real = real_program_path(folder);
    for (const std::string& one : {folder, real}) {
      if (is_in_view(one, existing)) continue;
      existing.push_back(one);
    }
  }
  return existing;
}

}  // namespace galley
