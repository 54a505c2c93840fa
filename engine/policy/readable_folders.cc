#include "engine/policy/readable_folders.h"

#include <algorithm>
#include <array>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

/// Places that commands must not read, relative to a home.
constexpr std::array<std::string_view, 31> kSecretPlaces = {".ssh",
                                                            ".gnupg",
                                                            ".aws",
                                                            ".azure",
                                                            ".kube",
                                                            ".docker",
                                                            ".password-store",
                                                            ".netrc",
                                                            ".npmrc",
                                                            ".pypirc",
                                                            ".pgpass",
                                                            ".git-credentials",
                                                            ".vault-token",
                                                            ".terraform.d",
                                                            ".mozilla",
                                                            ".thunderbird",
                                                            ".bash_history",
                                                            ".zsh_history",
                                                            ".config/chromium",
                                                            ".config/gh",
                                                            ".config/google-chrome",
                                                            ".config/rclone",
                                                            ".config/gcloud",
                                                            ".config/op",
                                                            ".config/galley",
                                                            ".config/git",
                                                            ".local/share/keyrings",
                                                            ".local/state",
                                                            ".m2/settings.xml",
                                                            ".gem/credentials",
                                                            ".gradle/gradle.properties"};

/// Places that only writing makes dangerous, relative to a home: the host runs programs from them
/// later, such as at the next login.
constexpr std::array<std::string_view, 45> kStartPlaces = {".config/systemd",
                                                           ".config/autostart",
                                                           ".config/environment.d",
                                                           ".config/plasma-workspace",
                                                           ".config/fish",
                                                           ".config/bash",
                                                           ".config/emacs",
                                                           ".config/hypr",
                                                           ".config/zsh",
                                                           ".config/nvim",
                                                           ".config/i3",
                                                           ".config/sway",
                                                           "go/bin",
                                                           ".local/lib",
                                                           ".local/share/bash-completion",
                                                           ".local/share/applications",
                                                           ".local/share/dbus-1",
                                                           ".local/share/systemd",
                                                           "bin",
                                                           ".bashrc",
                                                           ".bash_profile",
                                                           ".bash_login",
                                                           ".bash_logout",
                                                           ".bash_aliases",
                                                           ".profile",
                                                           ".zshrc",
                                                           ".zshenv",
                                                           ".zprofile",
                                                           ".zlogin",
                                                           ".zlogout",
                                                           ".kshrc",
                                                           ".cshrc",
                                                           ".tcshrc",
                                                           ".login",
                                                           ".xprofile",
                                                           ".xinitrc",
                                                           ".xsession",
                                                           ".xsessionrc",
                                                           ".pam_environment",
                                                           ".gitconfig",
                                                           ".forward",
                                                           ".procmailrc",
                                                           ".vimrc",
                                                           ".vim",
                                                           ".emacs.d"};

/// Devices, sockets and processes: the sandbox has its own.
constexpr std::array<std::string_view, 5> kMachinePlaces = {"/proc", "/sys", "/dev", "/run",
                                                            "/var/run"};
constexpr std::array<std::string_view, 4> kServicePlaces = {"/var/lib", "/var/spool", "/var/mail",
                                                            "/var/log"};
constexpr std::array<std::string_view, 2> kHomes = {"/home", "/root"};
constexpr std::string_view kSomeHome = "/home/of-this-user";

bool has_odd_part(std::string_view path) {
  for (size_t start = 1; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return true;
    start = end + 1;
  }
  return false;
}

bool has_part(std::string_view path, std::string_view wanted) {
  return (std::string(path) + "/").find("/" + std::string(wanted) + "/") != std::string::npos;
}

bool is_whole_home(std::string_view path, std::string_view home) {
  if (is_at_or_below(home, path)) return true;
  // Also when it is another user's home.
  const bool is_in_homes = path.substr(0, 6) == "/home/" && path.find('/', 6) == path.npos;
  return is_in_homes || std::find(kHomes.begin(), kHomes.end(), path) != kHomes.end();
}

/// Why a program must not get a folder that is, contains or is inside a place of secrets.
std::string objection_to_secrets(std::string_view path, std::string_view home) {
  for (const std::string_view secret : kSecretPlaces) {
    const std::string place = std::string(home) + "/" + std::string(secret);
    if (is_at_or_below(path, place) || is_at_or_below(place, path)) {
      return "~/" + std::string(secret) + " is a place of secrets";
    }
  }
  return {};
}

}  // namespace

std::string expanded_folder(std::string_view folder, std::string_view home) {
  const bool is_in_home = folder == "~" || folder.substr(0, 2) == "~/";
  std::string placed;
  if (!is_in_home) {
    placed = folder;
  } else if (!home.empty()) {
    placed = std::string(home) + std::string(folder.substr(1));
  }
  while (placed.size() > 1 && placed.ends_with('/')) placed.pop_back();
  return placed;
}

std::string objection_to_readable(std::string_view folder, std::string_view home) {
  const std::string_view known_home = home.empty() ? kSomeHome : home;
  const std::string path = expanded_folder(folder, known_home);
  if (!path.starts_with('/')) {
    return "write an absolute path, or one that begins with ~/";
  }
  if (path == "/" || is_whole_home(path, known_home)) {
    return "it has more in it than a toolchain, such as keys and tokens; name the toolchain's own "
           "folder, such as ~/.cargo";
  }
  if (has_odd_part(path)) return "write it without `.`, `..` and empty parts";
  for (const std::string_view place : kMachinePlaces) {
    if (is_at_or_below(path, place) || is_at_or_below(place, path)) {
      return "devices, sockets and processes of the machine are not shown";
    }
  }
  return objection_to_secrets(path, known_home);
}

std::string objection_to_start_place(std::string_view folder, std::string_view home) {
  const bool is_hidden = !home.empty() && folder.starts_with(std::string(home) + "/.");
  if (is_hidden && has_part(folder.substr(home.size()), "bin") &&
      !is_at_or_below(folder, std::string(home) + "/.cache")) {
    return "a `bin` below a hidden folder of a home has programs that this machine runs later, and "
           "not in the sandbox";
  }
  for (const std::string_view start : kStartPlaces) {
    const std::string place = std::string(home) + "/" + std::string(start);
    const bool is_met = is_at_or_below(folder, place) || is_at_or_below(place, folder);
    if (!home.empty() && is_met) {
      return "this machine runs what is in ~/" + std::string(start) +
             " later, and not in the sandbox";
    }
  }
  return {};
}

std::string objection_to_writable(std::string_view folder, std::string_view home) {
  const bool is_own_home = !home.empty() && folder == home;
  if (!is_own_home && is_whole_home(folder, home.empty() ? kSomeHome : home)) {
    return "it is a whole home; name the program's own folder";
  }
  for (const std::string_view secret : kSecretPlaces) {
    if (secret.find('/') == secret.npos && has_part(folder, secret)) {
      return std::string(secret) + " is a place of secrets, in any home";
    }
  }
  // Programs keep their own state in subfolders of this folder.
  const std::string state = std::string(home) + "/.local/state";
  const std::string own = state + "/galley";
  const bool is_of_program =
      is_at_or_below(folder, state) && folder != state && !is_at_or_below(folder, own);
  if (!home.empty() && !is_of_program) {
    std::string secrets = objection_to_secrets(folder, home);
    if (!secrets.empty()) return secrets;
  }
  // Folders that services of the machine read.
  const bool is_in_home = !home.empty() && is_at_or_below(folder, home);
  for (const std::string_view place : kServicePlaces) {
    if (!is_in_home && (is_at_or_below(folder, place) || is_at_or_below(place, folder))) {
      return "services of this machine keep their state in " + std::string(place);
    }
  }
  return {};
}

}  // namespace galley
