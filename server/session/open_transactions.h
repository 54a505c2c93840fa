#pragma once

#include <galley/workspace.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"

namespace galley {

/// The stored transactions that one connection works on.
///
/// One is the connection's own: it is begun by the first call that needs one. The others are named
/// by their ids, whoever began them. A transaction that nobody called for kIdleTime is closed, with
/// everything saved, so that `galley diff` and `galley commit` work on it from another terminal;
/// the next call opens it again.
///
/// Invariant: what a call staged is saved before its caller hears of it: when the process dies, the
///            transaction is there with it.
/// Ownership: borrows the workspace; owns the open transactions and one thread that closes them.
/// Threads:   may be used from several; each transaction is used by one at a time.
/// Errors:    those of Workspace::begin_stored and resume.
class OpenTransactions {
 public:
  static constexpr std::chrono::milliseconds kIdleTime{250};

  OpenTransactions(Workspace& workspace, std::string agent);
  ~OpenTransactions();
  OpenTransactions(const OpenTransactions&) = delete;
  OpenTransactions& operator=(const OpenTransactions&) = delete;

  /// What is done with a transaction; returns whether it is over then (committed, rolled back).
  using Work = std::function<Result<bool>(Transaction& transaction)>;

  /// Lends a transaction to `work`, and saves it afterwards. An empty id means the connection's
  /// own, which is begun where there is none.
  Result<void> with(const std::string& id, const Work& work);
  /// The same on one that is there: nothing is begun. `work` gets null where the connection has
  /// none of its own.
  Result<void> look(const std::string& id,
                    const std::function<Result<bool>(Transaction* transaction)>& work);
  /// Begins another one and makes it the connection's own.
  Result<std::string> begin(const std::string& message);
  /// The connection's own; empty where there is none.
  [[nodiscard]] std::string own() const;

 private:
  struct Slot {
    std::mutex mutex;  ///< held while the transaction is used
    std::unique_ptr<Transaction> transaction;
    std::chrono::steady_clock::time_point used;
  };
  std::shared_ptr<Slot> slot_of(const std::string& id);
  /// The whole id of what a caller names by the beginning of one.
  Result<std::string> named(const std::string& beginning) const;
  Result<void> use(const std::string& id, const Work& work);
  void forget(const std::string& id);
  void close_idle_ones();

  Workspace* workspace_;
  std::string agent_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::map<std::string, std::shared_ptr<Slot>> slots_;
  std::string own_;
  bool is_over_ = false;
  std::condition_variable wake_;
  std::mutex begin_mutex_;  ///< one own transaction is begun, not two
  std::thread closer_;
};

}  // namespace galley
