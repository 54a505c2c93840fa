#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The maximum time to match the files that one command or run wrote against git's ignore rules.
inline constexpr std::chrono::milliseconds kMaxIgnoreTime{10'000};

/// Adds to the refused effects of a command. `before` and `after` are the entries of the overlay
/// around the command; both are the same if its effects are refused already.
using RefuseEffects =
    std::function<void(const Overlay::Entries& before, const Overlay::Entries& after,
                       std::vector<RefusedEffect>& refused)>;

/// The options of a runner for one transaction.
struct GuardedRunnerOptions {
  std::string workspace;                       ///< absolute path of the root
  bool is_checkout = false;                    ///< the root is a tree of git without a repository
  Principals who;                              ///< their rules apply
  std::string layer_home;                      ///< as SandboxOptions::layer_home
  std::string keep_home;                       ///< as SandboxOptions::keep_home
  bool is_offline = false;                     ///< a preview: commands run without the network
  std::function<Result<void>()> before_first;  ///< called before the first command; may be empty
  /// Returns the value of SandboxOptions::scratch_home. Called before the first command; may be
  /// empty.
  std::function<Result<std::string>()> scratch_home;
  /// Called before each command whose effects may be staged. Its result, which may be empty, is
  /// called after the command. May be empty.
  std::function<RefuseEffects()> before_command;
};

/// Returns the limits of a command. A limit that the command does not request is the configured
/// one. A command can only request tighter limits.
[[nodiscard]] AskedLimits bounded(AskedLimits limits, const SandboxConfig& config);

/// Returns a rule that tells whether git ignores a path of this workspace. It reads git's files at
/// its first use.
[[nodiscard]] IgnoreRule git_ignore_rule(const std::string& workspace, const Clock& clock);

/// Makes a sandbox that applies the command policy: the programs that may be started (programs.h),
/// the agent's `net` capability, and the limits of `[sandbox]`. A command can only tighten these
/// limits. A transaction may have several principals. If a command changed a path that is denied to
/// one of them, it is `refused` and stages nothing. Such a change must not wait for the gate in a
/// transaction of another agent.
///
/// The first command creates the sandbox, so a transaction without commands does not need one.
///
/// Ownership: borrows configuration and clock; owns the sandbox.
/// Errors:    kRefused `command.denied`, `command.not_allowed`, `command.no_capability`,
///            `command.network_denied`, and the sandbox's own.
[[nodiscard]] std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                                 GuardedRunnerOptions options,
                                                                 const Clock& clock);

}  // namespace galley
