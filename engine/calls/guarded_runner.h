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

/// The maximum time for matching all files that a command or a run wrote with git's ignore rules.
inline constexpr std::chrono::milliseconds kMaxIgnoreTime{10'000};

/// The options of a runner for one transaction.
struct GuardedRunnerOptions {
  std::string workspace;    ///< absolute path of the root
  Principals who;           ///< their rules apply
  std::string layer_home;   ///< as SandboxOptions::layer_home
  std::string keep_home;    ///< as SandboxOptions::keep_home
  bool is_offline = false;  ///< a preview: commands run without the network
  /// Returns the place of SandboxOptions::scratch_home. Called before the first command; may be
  /// empty.
  std::function<Result<std::string>()> scratch_home;
};

/// Returns the limits of a command. Limits that it does not request are the configured ones.
/// Requested limits can only be tighter.
[[nodiscard]] AskedLimits bounded(AskedLimits limits, const SandboxConfig& config);

/// Returns a rule that tells whether git ignores a path of this workspace. It reads git's files at
/// its first use.
[[nodiscard]] IgnoreRule git_ignore_rule(const std::string& workspace, const Clock& clock);

/// Makes a sandbox that applies the command policy: which programs may be started (programs.h), the
/// agent's `net` capability, and the limits of `[sandbox]`, which a command can only tighten. If
/// the transaction has several principals, a command is `refused` and stages nothing if it changed
/// a path that is denied to one of them. Such a change must not wait for the gate in a transaction
/// of another agent.
///
/// The sandbox is created for the first command, so transactions without commands do not pay.
///
/// Ownership: borrows configuration and clock; owns the sandbox.
/// Errors:    kRefused `command.denied`, `command.not_allowed`, `command.no_capability`,
///            `command.network_denied`, and the sandbox's own.
[[nodiscard]] std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                                 GuardedRunnerOptions options,
                                                                 const Clock& clock);

}  // namespace galley
