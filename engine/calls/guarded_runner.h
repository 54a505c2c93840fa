#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {

/// How long matching with the ignore rules of git may take, of all that a command left or a run
/// wrote.
inline constexpr std::chrono::milliseconds kMaxIgnoreTime{10'000};

/// What a runner for one transaction needs to know.
struct GuardedRunnerOptions {
  std::string workspace;    ///< absolute path of the root
  Principals who;           ///< whose rules hold
  std::string layer_home;   ///< as SandboxOptions::layer_home
  std::string keep_home;    ///< as SandboxOptions::keep_home
  bool is_offline = false;  ///< a preview: no command has the network
  /// Where SandboxOptions::scratch_home is, asked for before the first command; may be empty.
  std::function<Result<std::string>()> scratch_home;
};

/// The limits that hold for a command: one that it did not ask for is the configuration's, one that
/// it asked for can only be tighter.
[[nodiscard]] AskedLimits bounded(AskedLimits limits, const SandboxConfig& config);

/// Whether git ignores a path of this workspace; its files are read at the first question.
[[nodiscard]] IgnoreRule git_ignore_rule(const std::string& workspace, const Clock& clock);

/// The sandbox behind the command policy: allow and deny lists, the agent's `exec` and `net`
/// capabilities, and the limits of `[sandbox]`, which a command can only tighten. Where several are
/// concerned, a command that changed what one of them may not is `refused` and stages nothing: what
/// is staged must not wait for the gate in somebody else's transaction.
///
/// A command that is restricted to programs already (Command::programs, by name or path) is held to
/// those of them that the policy allows, too; so is what it starts.
///
/// The sandbox itself is made at the first command, so that a transaction without any costs
/// nothing.
///
/// Ownership: borrows configuration and clock; owns the sandbox.
/// Errors:    kRefused `command.denied`, `command.not_allowed`, `command.no_capability`,
///            `command.network_denied`, and the sandbox's own.
[[nodiscard]] std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                                 GuardedRunnerOptions options,
                                                                 const Clock& clock);

/// Whose rules for programs, and where names of programs are looked up.
struct ProgramScope {
  Principals who;
  std::string workspace;    ///< absolute path of the root
  std::string search_path;  ///< as PATH
};

/// What `sandbox.allow`, `sandbox.deny` and the agent's `exec` capabilities mean for the programs
/// that a command starts: resolved files, since a wall knows no names and no arguments. A rule that
/// cannot be put that way is named in `unchecked`.
[[nodiscard]] ProgramRules program_rules(const Config& config, const ProgramScope& scope);

/// The rules, narrowed to the programs that a call may start (Command::programs). What names a
/// program that is many in one is named in `unchecked`.
[[nodiscard]] ProgramRules narrowed_to(const std::vector<std::string>& programs, ProgramRules rules,
                                       const ProgramScope& scope);
/// Whether the program that `name` was resolved to is one of them.
[[nodiscard]] bool is_among(const std::vector<std::string>& programs, const std::string& name,
                            const ResolvedProgram& program, const ProgramScope& scope);

/// A rule's program as a path: one with a `/` in it lies below the workspace unless it is absolute,
/// and what ends in `/` is a directory. A plain name stays as it is.
[[nodiscard]] std::string placed_rule(const std::string& rule, const std::string& workspace);

}  // namespace galley
