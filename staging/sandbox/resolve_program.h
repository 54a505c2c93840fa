#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// The program of a command, as policy rules and the kernel see it.
struct ResolvedProgram {
  std::string path;  ///< absolute: the file that is executed
  std::string real;  ///< with symbolic links followed; in the workspace the same as `path`
  bool is_in_workspace = false;
};

/// The default PATH of a command.
inline constexpr std::string_view kProgramPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Folders of the host that every command may read.
inline constexpr std::array<std::string_view, 9> kSystemFolders = {
    "/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

/// Returns the program that `name` means. A bare name is looked up in the absolute directories of
/// `search_path`, `dir/name` is below `working_directory`, an absolute path is used unchanged. A
/// program in the workspace need not exist on disk: it may exist only in the proposed tree.
/// Errors: kNotFound `sandbox.program_not_found`; kRefused `sandbox.program_not_runnable`; kInvalid
///         `sandbox.bad_command`.
[[nodiscard]] Result<ResolvedProgram> resolve_program(std::string_view name,
                                                      std::string_view search_path,
                                                      const std::string& workspace,
                                                      const RelPath& working_directory);

/// Returns every program of the host in the directories of `search_path`; with `name`, only those
/// of that name.
[[nodiscard]] std::vector<ResolvedProgram> list_programs(std::string_view search_path,
                                                         std::string_view name = {});

/// Returns `path` with `.` and `..` resolved textually and symbolic links followed, as far as it
/// exists.
[[nodiscard]] std::string real_program_path(const std::string& path);

/// The names of one file.
struct ProgramNames {
  std::vector<std::string> names;
  bool is_complete = true;  ///< false: it has hard links elsewhere
};
/// Returns the names in `search_path` that are hard links of the file `real`, including itself.
[[nodiscard]] ProgramNames names_of_program(const std::string& real, std::string_view search_path);

/// Whether a program acts according to the name by which it is called (busybox): a rule for one
/// name then says nothing about the others.
[[nodiscard]] bool is_multi_call(std::string_view real);

/// Whether the words of a command start with the words of `rule`: `git push` covers
/// `git push origin`. A rule's first word matches the name as given, the resolved path, the real
/// path, or the last component of either. If it ends in `/` it is a directory and matches every
/// program below it. For allow and deny lists.
[[nodiscard]] bool command_matches(std::string_view rule, const ResolvedProgram& program,
                                   const std::vector<std::string>& argv);

}  // namespace galley
