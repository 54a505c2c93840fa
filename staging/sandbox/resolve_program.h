#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// A program that a command names, as policy rules and the kernel see it.
struct ResolvedProgram {
  std::string path;  ///< absolute: what is executed
  std::string real;  ///< `path` with symbolic links followed; equals it inside the workspace
  bool is_in_workspace = false;
};

/// Directories that a command's programs are looked up in when it does not say otherwise.
inline constexpr std::string_view kProgramPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds the program `name` stands for: a bare name in the absolute directories of `search_path`,
/// `dir/name` below `working_directory`, an absolute path as it is. A program in the workspace may
/// be proposed only, so whether it exists there shows when it is run.
/// Errors: kNotFound `sandbox.program_not_found`; kInvalid `sandbox.bad_command`.
[[nodiscard]] Result<ResolvedProgram> resolve_program(std::string_view name,
                                                      std::string_view search_path,
                                                      const std::string& workspace,
                                                      const RelPath& working_directory);

/// Whether the words of a command start with the words of `rule`: `git push` covers
/// `git push origin`, and a rule's first word is met by the name as given, the resolved path, the
/// real path, or the last component of either. For allow and deny lists.
[[nodiscard]] bool command_matches(std::string_view rule, const ResolvedProgram& program,
                                   const std::vector<std::string>& argv);

}  // namespace galley
