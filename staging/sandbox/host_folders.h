#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Returns the PATH of a command: the folders of our own PATH that lie in `readable`, in its order;
/// then kProgramPath; then the folders of our PATH below /usr and /opt.
[[nodiscard]] std::string program_search_path(const std::vector<std::string>& readable);

/// Returns whether a path of the host is in the view of every command or in one of `readable`.
[[nodiscard]] bool is_in_view(std::string_view path, const std::vector<std::string>& readable);

/// Returns a program of this name that our own PATH finds and `search_path` does not, or "".
[[nodiscard]] std::string hidden_program(std::string_view name, std::string_view search_path);

/// Returns the folders that must be readable for a hidden program to run, with `~/` for the home:
/// its toolchain's, or else the folder it lies in and the one it links to.
[[nodiscard]] std::vector<std::string> folders_of_program(const std::string& program);

/// Returns a clause for an error about a hidden program: where it is, and what makes it visible.
[[nodiscard]] std::string how_to_show(const std::string& program);

/// Returns the variables that tell toolchains where they are: HOME is another folder inside.
[[nodiscard]] std::map<std::string, std::string> toolchain_environment(
    const std::vector<std::string>& readable);

/// Returns the files of credentials that lie directly in `readable`: they are covered.
[[nodiscard]] std::vector<std::string> credentials_in(const std::vector<std::string>& readable);

/// The folders of the host with the links on the way resolved as well, those that are there.
[[nodiscard]] std::vector<std::string> existing_folders(const std::vector<std::string>& folders);

/// The home of the user who runs this process, `$HOME`; empty when it is no absolute path.
[[nodiscard]] std::string home_folder();

/// Where a run has a home of its own: at home_folder(), or in /tmp where that is absent, not
/// spelled plainly, or at a place that the view has for something else.
[[nodiscard]] std::string private_home();

}  // namespace galley
