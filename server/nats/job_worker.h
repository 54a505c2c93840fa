#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <galley/workspace.h>
#include "base/result.h"
#include "engine/policy/config.h"
#include "server/nats/job.h"
#include "server/nats/nats_config.h"
#include "staging/fs/directory.h"
#include "staging/git/git_branch.h"

namespace galley {

/// Makes the changes of jobs: fetches the branch into a bare repository of its cache, stages, asks
/// the gate, commits there, and pushes by compare-and-swap.
///
///     fetch -> committed before? -> stage -> gate -> commit -> push -> receipt
///       ^------------------- the branch moved meanwhile --------'
///
/// Invariant: a job changes its branch at most once, whichever worker performs it and however
///            often. The commit has the job's id in a trailer. The push succeeds only on the
///            commit that was searched for this trailer and that the gate judged.
///            Wrong dates hide it only if 100 later commits in a row have them (docs/scale.md).
///            A power cut can damage what the cache got shortly before it, so these repositories
///            are fetched again afterwards.
/// Ownership: owns its cache, which only one worker can use.
/// Threads:   confined to one thread.
class JobWorker {
 public:
  static constexpr uint32_t kMostAttempts = 16;  ///< how often one delivery follows a moved branch

  /// Errors: kUsage `worker.no_cache`, `worker.no_repositories`; kRefused `worker.cache_in_use`,
  ///         `worker.cache_of_others`;
  ///         kInvalid `config.*` of the validators.
  [[nodiscard]] static Result<std::unique_ptr<JobWorker>> open(NatsConfig config);
  ~JobWorker();
  JobWorker(const JobWorker&) = delete;
  JobWorker& operator=(const JobWorker&) = delete;

  /// `on_progress` gets one line at each step.
  /// Errors: those of git and of the push that another delivery may not meet (kIo, kTimeout,
  ///         kUndecided); kTimeout `job.stopped`; kNotFound `job.no_repository`, which may be a
  ///         lasting one. Every other failure is a receipt.
  [[nodiscard]] Result<JobReceipt> perform(
      const Job& job, const std::stop_token& stop,
      const std::function<void(const std::string&)>& on_progress);
  /// The receipt of a job whose commit is on the branch; nullopt: it is not there.
  /// Errors: those of git.
  [[nodiscard]] Result<std::optional<JobReceipt>> landed(const Job& job,
                                                         const std::stop_token& stop);

  using PublishRecord =
      std::function<Result<void>(std::string_view record, const std::string& job_id)>;
  /// Sets where the audit records of jobs go. To be called before the first job.
  void publish_to(PublishRecord publish) { publish_ = std::move(publish); }
  /// To be called before and after perform(). Publishes the new records of the last job of this
  /// cache, oldest first. So the records of a worker that was killed are published before the next
  /// job, whatever its branch. perform() itself publishes those of a clone that it makes again.
  /// Errors: those of the function; kIo.
  [[nodiscard]] Result<void> publish_records(const Job& job) const;

 private:
  struct Place;
  struct Clone;
  JobWorker(NatsConfig config, Config own, std::unique_ptr<WritableFile> lock,
            std::unique_ptr<WritableDirectory> cache);
  [[nodiscard]] bool may_use(const std::string& repository) const;
  [[nodiscard]] std::string directory_of(const Job& job) const;
  [[nodiscard]] Result<void> publish_new(const Job& last) const;
  [[nodiscard]] Result<void> note_use(const std::string& repository);
  void pack(const std::string& repository, const std::stop_token& stop);
  [[nodiscard]] Result<GitAccess> opened(const std::string& directory);
  [[nodiscard]] Result<Place> fetched(const Job& job, const std::stop_token& stop);
  [[nodiscard]] Result<std::string> earlier_commit(const Place& place, const Job& job,
                                                   const std::stop_token& stop) const;
  [[nodiscard]] Result<std::optional<JobReceipt>> try_once(
      const Job& job, const std::stop_token& stop,
      const std::function<void(const std::string&)>& on_progress);
  [[nodiscard]] Result<std::optional<JobReceipt>> stage_and_push(
      const Place& place, const Job& job, const std::stop_token& stop,
      const std::function<void(const std::string&)>& on_progress);
  [[nodiscard]] Result<void> make_clone(const std::string& repository, const std::string& hash);
  [[nodiscard]] Result<std::optional<JobReceipt>> refused_here(const Job& job, const Error& why);
  [[nodiscard]] bool is_sick(const Job& job, const Error& why) const;
  [[nodiscard]] Result<void> distrust(const Job& job);

  [[nodiscard]] Result<WorkspaceOptions> options_of(const Job& job) const;

  NatsConfig config_;
  Config own_;  ///< with the validators that jobs may name
  std::unique_ptr<WritableFile> lock_;
  std::unique_ptr<WritableDirectory> cache_;
  PublishRecord publish_;
  std::vector<Clone> clones_;  ///< those of the last jobs, the newest first
  /// When clones were packed again.
  std::map<std::string, std::chrono::steady_clock::time_point> packed_;
  bool is_new_ = false;          ///< the clone was made for the present job
  bool has_other_hash_ = false;  ///< it has, because the first one did not fit
};

}  // namespace galley
