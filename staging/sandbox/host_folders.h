#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Where programs of a command are looked for: the folders of our own PATH that lie in `readable`,
/// in its order; then kProgramPath; then those of our PATH below /usr and /opt.
[[nodiscard]] std::string program_search_path(const std::vector<std::string>& readable);

/// Whether a path of the host is in the view of every command, or in one of `readable`.
[[nodiscard]] bool is_in_view(std::string_view path, const std::vector<std::string>& readable);

/// A program of this name in our own PATH that `search_path` does not find, or nothing.
[[nodiscard]] std::string hidden_program(std::string_view name, std::string_view search_path);

/// The folders that have to be readable for a hidden program, `~/` for the home: the toolchain it
/// belongs to, or else the folder it lies in and the one it is a link to.
[[nodiscard]] std::vector<std::string> folders_of_program(const std::string& program);

/// One clause for an error about a hidden program: where it is, and what makes it visible.
[[nodiscard]] std::string how_to_show(const std::string& program);

/// Variables that tell toolchains where they are, since HOME is another folder inside.
[[nodiscard]] std::map<std::string, std::string> toolchain_environment(
    const std::vector<std::string>& readable);

/// Files right in `readable` that hold credentials: they are covered.
[[nodiscard]] std::vector<std::string> credentials_in(const std::vector<std::string>& readable);

/// The folders of the host with the links on the way resolved as well, those that are there.
[[nodiscard]] std::vector<std::string> existing_folders(const std::vector<std::string>& folders);

/// The home of the user who runs this process, `$HOME`; empty when it is no absolute path.
[[nodiscard]] std::string home_folder();

}  // namespace galley
