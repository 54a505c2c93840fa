#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"

namespace galley {

/// The stored transactions that one connection works on.
///
/// One is the connection's own: the first call that needs it begins it. The others are named by
/// their ids, whichever agent began them. A transaction without a call for kIdleTime is saved and
/// closed, so that `galley diff` and `galley commit` can use it from another terminal; the next
/// call opens it again. If a call began it and nothing is staged in it, it is dropped instead: it
/// would be in the way of the next one that a person begins.
///
/// Invariant: staged changes of a call are saved before its caller gets the answer, so they survive
///            the death of the process.
/// Ownership: borrows the workspace; owns the open transactions and one thread that closes them.
/// Threads:   may be used from several threads; each transaction is used by one at a time.
/// Errors:    those of Workspace::begin_stored and resume.
class OpenTransactions {
 public:
  static constexpr std::chrono::milliseconds kIdleTime{250};

  /// The transaction of a call that names none.
  enum class Own : uint8_t {
    kOne,   ///< the connection's: the first such call begins it, or in a shared session others
    kNone,  ///< each such call begins another one
  };
  OpenTransactions(Workspace& workspace, std::string agent, Own own = Own::kOne);

  /// A session of the agent. Empty: that of the workspace.
  struct AgentSessionName {
    std::string id = {};
    bool is_shared = false;  ///< with the agent's hook and commands, which may begin it
    bool is_hooked = false;  ///< a hook of the agent that started this process reported it
  };
  /// Notes the session of the newest call. Each session has its own transaction.
  void work_in(const AgentSessionName& session);
  /// While it lives, this thread works in the session with this id, which work_in() got; other
  /// threads do so in the newest one.
  class InSession;
  /// Whether a hook of the agent reported the session of this thread.
  [[nodiscard]] bool is_hooked() const;
  /// The agent and the session of what is begun and committed now.
  [[nodiscard]] TransactionOptions who() const;
  ~OpenTransactions();
  OpenTransactions(const OpenTransactions&) = delete;
  OpenTransactions& operator=(const OpenTransactions&) = delete;

  /// Exclusive use of a transaction until it is given back or the lease is destroyed.
  class Lease;
  /// Lends a transaction. An empty id means the connection's own, which is begun if necessary.
  Result<Lease> lend(const std::string& id);
  /// The same, but begins nothing. Returns an empty lease if the connection does not have its own
  /// transaction.
  Result<Lease> look(const std::string& id);
  /// Closes all of them; the next call that needs one resumes it. No call may be running.
  void close_all();
  /// The state was removed, with all open transactions.
  void note_removed_state();
  /// Begins another one as the connection's own.
  Result<std::string> begin(const std::string& message);
  /// The id of the connection's own; empty when there is none.
  [[nodiscard]] std::string own();
  /// Whether there is one. Forgets one that another process ended.
  [[nodiscard]] bool has_own();

 private:
  struct Slot {
    std::mutex mutex;  ///< held while the transaction is used
    std::unique_ptr<Transaction> transaction;
    std::chrono::steady_clock::time_point used;
    bool is_kept_empty = true;  ///< false: a call began it, and only this connection knows it
  };
  std::shared_ptr<Slot> slot_of(const std::string& id);
  /// The full id for the beginning of an id.
  Result<std::string> named(const std::string& beginning) const;
  Result<Lease> resume(const std::string& id);
  Result<std::string> begin_own();
  [[nodiscard]] std::string session() const;
  /// Whether others may begin the session's transaction.
  [[nodiscard]] bool is_shared(const std::string& session) const;
  void forget(const std::string& id);
  void close_idle_ones();
  /// Closes a transaction that this thread uses alone, or drops it.
  void close(const std::string& id, Slot& slot);

  Workspace* workspace_;
  std::string agent_;
  Own which_;
  mutable std::mutex mutex_;  ///< guards all of the following
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  std::map<std::string, std::string> own_;  ///< by session
  std::set<std::string> shared_;            ///< sessions that others work in, too
  std::set<std::string> hooked_;            ///< those that a hook reported
  std::set<std::string> lost_;              ///< own transactions of a removed state
  std::string newest_session_;
  bool is_over_ = false;
  std::condition_variable wake_;
  std::mutex begin_mutex_;  ///< ensures that only one own transaction is begun
  std::thread closer_;
};

class OpenTransactions::InSession {
 public:
  explicit InSession(const std::string& id) : before_(std::exchange(current, &id)) {}
  ~InSession() { current = before_; }
  InSession(const InSession&) = delete;
  InSession& operator=(const InSession&) = delete;

 private:
  friend class OpenTransactions;
  static thread_local const std::string* current;
  const std::string* before_;
};

class OpenTransactions::Lease {
 public:
  Lease() = default;
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = delete;
  /// Saves a lease that was not given back. Ignores a failure, because the caller already has an
  /// error to report.
  ~Lease() {
    if (*this) (void)give_back();
  }

  [[nodiscard]] explicit operator bool() const { return slot_ != nullptr; }
  [[nodiscard]] Transaction* operator->() const { return slot_->transaction.get(); }
  [[nodiscard]] Transaction& operator*() const { return *slot_->transaction; }
  /// The connection's own transaction before this one, if it ended otherwise than by a call here.
  [[nodiscard]] const std::string& ended() const { return ended_; }
  /// How it ended, as words after its id.
  [[nodiscard]] std::string ended_how() const {
    return is_ended_lost_ ? "was lost: `.galley` was removed while it was in use"
                          : "was committed or dropped elsewhere (see galley_log)";
  }
  /// The transaction stays open also while nothing is staged in it.
  void keep_empty() { slot_->is_kept_empty = true; }
  /// Saves the staged changes; `is_over` after a commit or a rollback.
  Result<void> give_back(bool is_over = false);

 private:
  friend class OpenTransactions;
  Lease(OpenTransactions& owner, std::string id, std::shared_ptr<Slot> slot)
      : owner_(&owner), id_(std::move(id)), slot_(std::move(slot)), lock_(slot_->mutex) {}

  OpenTransactions* owner_ = nullptr;
  std::string id_;
  std::string ended_;
  bool is_ended_lost_ = false;
  std::shared_ptr<Slot> slot_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace galley
