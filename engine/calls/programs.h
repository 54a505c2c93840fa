#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {

/// Which programs may be started in a workspace: what `sandbox.allow`, `sandbox.deny` and the `exec`
/// capabilities of all concerned say, and the names that a call was narrowed to
/// (Command::only_programs).
///
///     check()   may this command run?       by the name as it was called, its file, its arguments
///     walls()   what may it start in turn?  by real files and folders: a wall knows no names
///
/// Ownership: borrows the configuration.
/// Threads:   any.
class Programs {
 public:
  Programs(const Config& config, Principals who, std::string workspace);

  /// `search_path` is as PATH; `command.argv` is looked up there.
  /// Errors: kRefused `command.denied`, `command.not_allowed`, `command.no_capability`; kInvalid
  ///         `sandbox.bad_command`; kNotFound `sandbox.program_not_found`.
  Result<void> check(const Command& command, const std::string& search_path);
  /// What the sandbox enforces; rules that no wall can are named in `unchecked`.
  [[nodiscard]] ProgramRules walls(const Command& command, const std::string& search_path);

 private:
  ProgramRules rules_for(const std::string& search_path);
  [[nodiscard]] Result<void> check_lists(const Command& command,
                                         const ResolvedProgram& program) const;

  const Config* config_;
  Principals who_;
  std::string workspace_;                      ///< absolute path of the root
  std::mutex mutex_;                           ///< guards what follows
  std::map<std::string, ProgramRules> rules_;  ///< by search path
  uint64_t rules_version_ = 0;                 ///< of the grants that rules_ is made of
};

}  // namespace galley
