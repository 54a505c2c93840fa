#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/calls/call_supervisor.h"
#include "engine/calls/secrets.h"
#include "engine/calls/seen_contents.h"
#include "engine/pipeline/persistent_state.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/rules.h"
#include "engine/validators/validator_cache.h"
#include "tools/registry.h"

namespace galley {

/// The tools of a workspace, their health and quotas, the runners of command validators, and the
/// cache of validators. Each is created at its first use.
///
/// Ownership: borrows the other parts of the workspace, and the runner of the options.
/// Threads:   any; results stay valid. No function waits or runs a command under the lock.
class Toolbox {
 public:
  /// Moves the runner, the tools and their dependencies out of `options`.
  Toolbox(const Place& place, const Rules& rules, PersistentState& kept, WorkspaceOptions& options);

  /// Returns the registry of tools.
  /// Errors: kInvalid `tool.*`, which names the tool.
  Result<ToolRegistry*> registry();
  /// Checks the tools that the program defined.
  Result<void> check_given();
  /// Returns the supervisor, which enforces `[tools.NAME]` for all transactions.
  CallSupervisor& supervisor();
  /// Returns the cache of validators: on disk if `.galley` exists, else in memory. Returns null
  /// without validators.
  ValidatorCache* cache();
  /// Returns the runner of command validators that judge these principals.
  CommandRunner* runner_for(const Principals& who);
  /// Returns the runner that the program gave instead of the sandbox, or null.
  [[nodiscard]] CommandRunner* given_runner() const { return given_runner_; }
  /// Takes over rules that were read again. No other thread may use the workspace, and none of its
  /// transactions may be open.
  void follow_rules();
  /// Returns the mode: all tools, or only tools that read.
  [[nodiscard]] ToolRegistry::Mode mode() const { return mode_; }
  /// Returns a notice for each custom tool that registry() left out.
  [[nodiscard]] std::vector<std::string> left_out();
  /// Returns a notice for each table `[tools.NAME]` that names no tool.
  Result<std::vector<std::string>> unknown_tools();

  KnownSecrets known_secrets;  ///< secrets that tools of this process received
  SeenContents seen;           ///< contents that sessions of this process have seen
  /// Several clients share the session, so what one has read is not known to the others: only what
  /// a stored transaction has seen counts, for its own calls.
  bool is_shared = false;

 private:
  void enable_tools();  ///< as the rules say; under the lock

  const Place* place_;
  const Rules* rules_;
  PersistentState* kept_;
  ToolRegistry::Mode mode_;
  CommandRunner* given_runner_;
  std::vector<ToolDefinition> given_tools_;
  ToolDefinition::Dependencies dependencies_;
  std::mutex mutex_;  ///< guards what follows
  std::unique_ptr<ToolRegistry> registry_;
  std::vector<std::string> left_out_;  ///< of the registry
  std::set<std::string> disabled_;     ///< by `[tools.NAME]`, in the registry
  std::unique_ptr<CallSupervisor> supervisor_;
  std::unique_ptr<ValidatorCache> cache_;
  /// The key has the principals, and whether `.galley` existed, where runners keep their layers. A
  /// judgement reuses the layers of the previous one.
  std::map<std::pair<Principals, bool>, std::unique_ptr<CommandRunner>> runners_;
};

}  // namespace galley
