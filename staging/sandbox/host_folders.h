#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Returns the PATH of a command. First come the folders of this process's PATH that are in
/// `readable`, then kProgramPath, then the folders of this process's PATH below /usr and /opt.
[[nodiscard]] std::string program_search_path(const std::vector<std::string>& readable);

/// Returns the folders of this process's PATH that are `place` or in it. Links above them are
/// resolved, and a link into `place` counts as a folder in it.
[[nodiscard]] std::vector<std::string> search_folders_in(const std::string& place);

/// Returns whether a path of the host is in the view of every command or in one of `readable`.
[[nodiscard]] bool is_in_view(std::string_view path, const std::vector<std::string>& readable);

/// Returns a program of this name that this process's PATH finds and `search_path` does not, or "".
[[nodiscard]] std::string hidden_program(std::string_view name, std::string_view search_path);

/// Returns the folders that must be readable for a hidden program to run, with `~/` for the home.
/// They are those of its toolchain, or else the program's folder and the folder of its link's
/// target.
[[nodiscard]] std::vector<std::string> folders_of_program(const std::string& program);

/// Returns a clause for an error about a hidden program: its place, and how to make it visible.
[[nodiscard]] std::string visibility_hint(const std::string& program);

/// Returns the variables that tell toolchains their places. They are needed because HOME is another
/// folder inside the sandbox.
[[nodiscard]] std::map<std::string, std::string> toolchain_environment(
    const std::vector<std::string>& readable);

/// Returns the files of credentials directly in the folders of `readable`. The view hides their
/// contents.
[[nodiscard]] std::vector<std::string> credentials_in(const std::vector<std::string>& readable);

/// Returns those of `folders` that exist, each also with its links resolved. Folders that are
/// already in the view are left out.
[[nodiscard]] std::vector<std::string> existing_folders(const std::vector<std::string>& folders);

/// The home of the user of this process, `$HOME`; empty if it is not an absolute path.
[[nodiscard]] std::string home_folder();

/// Returns the place of a run's private home. This is home_folder(), or a place in /tmp if
/// home_folder() is empty, not in plain form, or used by the view for something else.
[[nodiscard]] std::string private_home();

}  // namespace galley
