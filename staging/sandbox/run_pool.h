#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {

/// Runs queued clean-up jobs, in order, on one thread.
///
/// Ownership: the destructor runs every posted job before it returns.
/// Threads:   safe to share. The first job starts the thread.
class BackgroundWorker {
 public:
  using Job = std::function<Result<void>()>;
  /// Jobs in the queue; post() waits while it is full.
  static constexpr size_t kMaxWaiting = 64;

  BackgroundWorker() = default;
  ~BackgroundWorker();
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  void post(Job job);
  /// Returns when every posted job has ended.
  void finish();
  /// Returns the first failure of a job since the last call.
  [[nodiscard]] Result<void> take_failure();

 private:
  void run_jobs();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  bool is_working_ = false;
  bool is_over_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

/// Prepares a command's start in advance: a run directory with an empty upper layer, and a helper
/// process whose namespaces exist.
///
///     run/<n>/upper   the command's effects      run/<n>/work   for overlayfs itself
///
/// The constructor gets the first helper. The pool refills itself in the background when the second
/// command has ended: most processes run only one command.
///
/// Ownership: owns the run directories below `home` and the helpers; borrows home and workspace.
///            The destructor returns when the directories are erased and the helpers have ended.
/// Threads:   safe to share.
class RunPool {
 public:
  RunPool(const LayerHome& home, const Directory& workspace, std::string helper,
          std::optional<WaitingProcess> first);
  ~RunPool();
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  /// Returns a run directory, as a path below the home, that belongs to the caller until retire().
  Result<RelPath> take_directory();

  /// Runs the command with the ready helper, or else with a new one.
  Result<HelperRun> run(const SandboxRequest& request, const Command& command, int proxy);

  /// Takes the ready helper, if there is one.
  std::optional<WaitingProcess> take_helper();

  /// Erases the directory and waits for the helper, both in the background.
  void retire(const RelPath& directory, ExitingProcess helper);

  /// Returns the first failure of the background work since the last call.
  [[nodiscard]] Result<void> take_failure() { return worker_.take_failure(); }

 private:
  /// A run directory, and the state of the workspace's root when it was made.
  struct RunDirectory {
    RelPath path;
    FileStat root;
  };
  Result<RunDirectory> make_directory();
  Result<void> refill();

  const LayerHome* home_;
  const Directory* workspace_;
  std::string helper_;  ///< path of galley-sandbox
  std::mutex mutex_;
  std::optional<RunDirectory> directory_;         ///< for the next command
  std::optional<WaitingProcess> waiting_helper_;  ///< for the next command
  uint64_t next_number_ = 1;
  uint64_t retired_ = 0;
  BackgroundWorker worker_;  ///< the last member: its jobs use the others
};

}  // namespace galley
