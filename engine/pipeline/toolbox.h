#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/calls/call_supervisor.h"
#include "engine/calls/secrets.h"
#include "engine/calls/seen_contents.h"
#include "engine/pipeline/kept_state.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/rules.h"
#include "engine/validators/validator_cache.h"
#include "tools/registry.h"

namespace galley {

/// What a workspace calls and runs: its tools, how they stand, what command validators run in, and
/// what validators said before. Each is made at its first use.
///
/// Ownership: borrows the other parts and a runner that was given.
/// Threads:   any; what a function returned stays. Nothing waits or runs a command under its lock.
class Toolbox {
 public:
  /// Uses of `options` the runner, the tools and what these can be given.
  Toolbox(const Place& place, const Rules& rules, KeptState& kept, WorkspaceOptions& options);

  /// Errors: kInvalid `tool.*`, which names the tool.
  Result<ToolRegistry*> registry();
  /// Whether the tools that the program gave can be used; nothing is made where it gave none.
  Result<void> check_given();
  /// What holds the calls of all transactions to `[tools.NAME]`.
  CallSupervisor& supervisor();
  /// Remembers what validators said: on disk where there is a `.galley`, else for this process.
  /// Null when there are no validators.
  ValidatorCache* cache();
  /// What validators run in that judge what these propose.
  CommandRunner* runner_for(const Principals& who);
  /// What runs all commands instead of the sandbox; null: none was given.
  [[nodiscard]] CommandRunner* given_runner() const { return given_runner_; }
  /// Which of them can be called at all.
  [[nodiscard]] ToolRegistry::Mode mode() const { return mode_; }
  /// Which tables of tools are about none, a line each.
  Result<std::vector<std::string>> unknown_tools();

  KnownSecrets known_secrets;  ///< that tools were given here
  SeenContents seen;           ///< by the sessions of this process

 private:
  const Place* place_;
  const Rules* rules_;
  KeptState* kept_;
  ToolRegistry::Mode mode_;
  CommandRunner* given_runner_;
  std::vector<ToolDefinition> given_tools_;
  ToolDefinition::Dependencies dependencies_;
  std::mutex mutex_;  ///< guards what follows
  std::unique_ptr<ToolRegistry> registry_;
  std::unique_ptr<CallSupervisor> supervisor_;
  std::unique_ptr<ValidatorCache> cache_;
  /// By who is judged and whether there was a `.galley`, which is where they keep things: one
  /// judgement's layers serve the next.
  std::map<std::pair<Principals, bool>, std::unique_ptr<CommandRunner>> runners_;
};

}  // namespace galley
