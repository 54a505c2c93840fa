#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"

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

/// The sandbox behind the command policy: which programs may be started (programs.h), the agent's
/// `net` capability, and the limits of `[sandbox]`, which a command can only tighten. Where several are
/// concerned, a command that changed what one of them may not is `refused` and stages nothing: what
/// is staged must not wait for the gate in somebody else's transaction.
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

}  // namespace galley
