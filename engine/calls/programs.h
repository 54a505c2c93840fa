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

struct ProgramScope;

/// Which programs may be started in a workspace. The answer depends on `sandbox.allow`,
/// `sandbox.deny`, the `exec` capabilities of all principals, and the programs to which a call is
/// limited (Command::only_programs).
///
///     check()   may this command run?           by the name as called, its file, its arguments
///     walls()   which programs may it start?    by real files and folders, not by names
///
/// Ownership: borrows the configuration.
/// Threads:   safe to share.
class Programs {
 public:
  Programs(const Config& config, Principals who, std::string workspace);

  /// Looks the program up in `search_path`, which has the form of PATH.
  /// Errors: kRefused `command.denied`, `command.not_allowed`, `command.no_capability`; kInvalid
  ///         `sandbox.bad_command`; kNotFound `sandbox.program_not_found`.
  Result<void> check(const Command& command, const std::string& search_path);
  /// Returns the rules for the sandbox to enforce. ProgramRules::unchecked lists the rules that the
  /// sandbox cannot enforce.
  [[nodiscard]] ProgramRules walls(const Command& command, const std::string& search_path);

 private:
  ProgramRules rules_for(const std::string& search_path);
  [[nodiscard]] Result<void> check_lists(const Command& command, const ResolvedProgram& program,
                                         const ProgramScope& scope, bool is_found) const;

  const Config* config_;
  Principals who_;
  std::string workspace_;                      ///< absolute path of the root
  std::mutex mutex_;                           ///< guards the members below
  std::map<std::string, ProgramRules> rules_;  ///< by search path
  uint64_t rules_version_ = 0;                 ///< of the grants that rules_ was built from
};

}  // namespace galley
