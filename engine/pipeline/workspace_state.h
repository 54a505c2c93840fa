#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <galley/workspace.h>
#include "base/clock.h"
#include "engine/audit/audit.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/secrets.h"
#include "engine/calls/seen_contents.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/config.h"
#include "engine/policy/gate.h"
#include "engine/policy/grant_book.h"
#include "engine/policy/principals.h"
#include "engine/validators/validator_cache.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"
#include "tools/registry.h"

namespace galley {

/// What a workspace shows in place of the files at its path: a tree that nobody writes.
///
/// Ownership: the workspace that is opened on it holds it.
/// Threads:   `files` and `make_runner` are used from all threads of the workspace.
struct WorkspaceTree {
  std::unique_ptr<const Directory> files;
  std::string name;  ///< as ProposedTree's base_name: the same name, the same files
  /// What runs commands on `files` for these; it may borrow configuration and clock.
  std::function<std::unique_ptr<CommandRunner>(const Config&, const Principals&, const Clock&)>
      make_runner;
};

/// An object that is made after its owner, by the first thread that needs it.
///
/// Invariant: what get() returned stays valid as long as this, even if another one is set later.
/// Threads:   reading from any thread; set() by one thread at a time, under a lock of the owner.
template <class T>
class LateObject {
 public:
  [[nodiscard]] T* get() const { return object_.load(std::memory_order_acquire); }
  explicit operator bool() const { return get() != nullptr; }
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  friend bool operator==(const LateObject& one, std::nullptr_t) { return one.get() == nullptr; }

  void set(std::unique_ptr<T> made) {
    made_.push_back(std::move(made));
    object_.store(made_.back().get(), std::memory_order_release);
  }

 private:
  std::vector<std::unique_ptr<T>> made_;
  std::atomic<T*> object_{nullptr};
};

using StageStatus = Workspace::Stage;

/// A record that a journal of the history carries.
struct RecordedCommit {
  TxId id;
  bool is_retired = false;  ///< its journal has left j/
  std::string record;
};

/// What a workspace holds; for the rooms that see this one.
///
/// Threads: what open() set is not changed afterwards, but by take_up_state(); the functions that
///          begin with `need_` may be called from any thread, and what they return stays.
struct WorkspaceState {
  std::string root_path;
  /// For publishing, recovery, adoption and the clearing of garbage, in this room alone.
  std::unique_ptr<WritableDirectory> writable_root;
  Config config;
  std::optional<Error> configuration_flaw;  ///< then `config` holds the strict defaults
  TrustPart trust_part;                     ///< of the configuration as it stands in the file
  std::vector<std::string> notices;         ///< what was not believed
  WorkspaceOptions options;
  UserSettings user;
  SystemClock system_clock;
  std::optional<Error> doubt;                  ///< why the `.galley` that is there is not taken up
  LateObject<StateDirectory> state_directory;  ///< absent until something must be kept
  LateObject<AuditLog> audit;                  ///< present with state_directory
  /// What `config.grants` shows; brought up to date by refresh_grants().
  std::shared_ptr<GrantBook> grant_book = std::make_shared<GrantBook>();
  KnownSecrets known_secrets;           ///< that tools were given here
  SeenContents seen;                    ///< by the sessions of this process
  std::mutex grants_mutex;              ///< guards what follows
  std::optional<FileStat> grants_seen;  ///< the folder, when it was read and settled
  /// Guards the making of what is made late: state_directory and audit, which are read without it,
  /// and what follows. Nothing waits or runs a command under it.
  std::mutex mutex;
  std::unique_ptr<ToolRegistry> registry;      ///< made at the first call
  std::unique_ptr<CallSupervisor> supervisor;  ///< made at the first call
  std::unique_ptr<ValidatorCache> cache;       ///< made when there are validators
  /// What command validators run in, by who is judged and whether there was a `.galley`, which is
  /// where they keep things: one judgement's layers serve the next.
  std::map<std::pair<Principals, bool>, std::unique_ptr<CommandRunner>> runners;

  /// What is shown and judged; transactions begin on it.
  [[nodiscard]] const Directory& root() const {
    return options.tree != nullptr ? *options.tree->files : *writable_root;
  }
  [[nodiscard]] const Clock& clock() const {
    return options.clock != nullptr ? *options.clock : system_clock;
  }
  /// Absolute path of what StateDirectory::own() names; there is a state.
  [[nodiscard]] std::string own_path(std::string_view place) const {
    return root_path + "/.galley/" + state_directory->own(place).str();
  }
  /// Remembers what validators said: on disk where there is a `.galley`, else for this process.
  ValidatorCache* need_cache();
  /// The runner for validators that judge what these propose.
  CommandRunner* need_runner(const Principals& who);
  /// Takes up `.galley` if there is one to believe, and recovers.
  Result<void> open_state();
  /// Refuses what has to write state where there is one that is not believed.
  [[nodiscard]] Result<void> check_belief() const {
    return doubt ? Result<void>(*doubt) : Result<void>();
  }
  /// The `.galley` directory, or null when nothing that is believed was ever kept here.
  [[nodiscard]] const StateDirectory* state() const { return state_directory.get(); }
  /// Takes up a `.galley` that somebody made since.
  Result<void> look_for_state();
  /// Makes `.galley` when there is none.
  Result<void> need_state();
  /// Under the mutex.
  void set_state(StateDirectory made);
  Result<ToolRegistry*> need_registry();
  /// Takes in what was granted and revoked since, by whomever. One look at a folder when nothing
  /// changed.
  Result<void> refresh_grants();
  /// What holds the calls of all transactions to `[tools.NAME]`.
  CallSupervisor& need_supervisor();
  /// Says in `notices` which tables of tools are about none.
  Result<void> look_for_unknown_tools();
  /// Who asks for a tool, with what galley.toml gives it.
  [[nodiscard]] ToolCaller caller(const std::string& agent, const std::string& session = {}) const;
  /// Takes out of the configuration what nobody trusted.
  Result<void> judge_trust();
  /// Finishes or takes back what a crash left.
  Result<void> recover();
  /// Puts audit records that the log lacks back from the journals.
  Result<size_t> restore_audit();
  /// The chain, and whether every commit of the history is in it.
  Result<AuditVerification> verify_audit() const;
  Result<std::vector<RecordedCommit>> recorded_commits() const;
};

/// For the rooms that see this one: what a workspace holds. It lives as long as the workspace.
struct WorkspaceAccess {
  [[nodiscard]] static WorkspaceState& of(const Workspace& workspace) { return *workspace.state_; }
};
[[nodiscard]] inline WorkspaceState& inside(const Workspace& workspace) {
  return WorkspaceAccess::of(workspace);
}

/// The history, for a verb that needs one.
/// Errors: kNotFound `history.empty`; kRefused `state.not_believed`.
[[nodiscard]] Result<History> history_of(WorkspaceState& workspace, std::string_view verb);

}  // namespace galley
