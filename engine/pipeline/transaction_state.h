#pragma once

#include <galley/transaction.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "engine/audit/recorder.h"
#include "engine/calls/executor.h"
#include "engine/calls/guarded_runner.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/commits_meanwhile.h"
#include "engine/pipeline/run_capture.h"
#include "engine/pipeline/transcript_file.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "engine/policy/principals.h"
#include "engine/stages/run_folder.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "staging/overlay/staged_step.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

inline constexpr size_t kNamedCalls = 20;  ///< ids that a message lists

/// The members of a transaction, for the sources transaction*.cc.
struct Transaction::State {
  /// `stage_id` is empty for a transaction in memory.
  State(WorkspaceState& opened, std::shared_ptr<ContentStore> store,
        TransactionOptions transaction_options, const std::string& stage_id = {})
      : workspace(&opened),
        options(opened.bounded(std::move(transaction_options))),
        overlay(opened.place.files(), std::move(store), opened.place.clock()),
        id(stage_id),
        recorder(opened.persistent.recorder(record_time(), record_id())) {
    if (opened.rules.config.commit.isolation == Isolation::kSerializable) overlay.track_reads();
  }

  /// Returns the runner of this transaction's commands. Its layers last until the transaction ends.
  CommandRunner* runner() {
    if (workspace->tools.given_runner() != nullptr) return workspace->tools.given_runner();
    std::function<Result<std::string>()> scratch_home;
    if (stage) scratch_home = [this] { return ensure_scratch_home(stage->directory()); };
    if (own_runner == nullptr && workspace->place.tree != nullptr) {
      own_runner =
          workspace->place.tree->make_runner(workspace->rules.config, options.principals(),
                                             workspace->place.clock(), std::move(scratch_home));
    }
    if (own_runner == nullptr) {
      GuardedRunnerOptions runner_options;
      runner_options.workspace = workspace->place.path;
      runner_options.who = options.principals();
      runner_options.is_offline = options.is_preview;
      runner_options.before_first = [this] { return workspace->persistent.check_owner(); };
      if (stage) {
        runner_options.layer_home = workspace->persistent.own_path("stage/" + stage->id());
      }
      runner_options.scratch_home = std::move(scratch_home);
      runner_options.before_command = [this] {
        return refuse_by_later_commits(workspace->persistent);
      };
      own_runner = make_guarded_runner(workspace->rules.config, std::move(runner_options),
                                       workspace->place.clock());
    }
    return own_runner.get();
  }

  /// Remembers the message of the last git commit that these calls requested.
  void ask_for_git_commits(const std::vector<ToolCall>& calls, std::vector<ToolResult>& results);
  /// Ends a committed transaction, and makes the requested git commit.
  void end_with(Receipt& receipt);
  void keep_step(StagedStep step) {
    step_paths += std::max<size_t>(1, step.changes.size());
    steps.push_back(std::move(step));
    if (step_paths <= 2 * kMaxStepPaths) return;
    bound_steps(steps);
    step_paths = kMaxStepPaths;
  }

  /// Returns all steps, including those in the stage directory.
  Result<std::vector<StagedStep>> all_steps() const {
    std::vector<StagedStep> all;
    if (stage) {
      GALLEY_ASSIGN(all, stage->load_steps());
    }
    all.insert(all.end(), steps.begin(), steps.end());
    return all;
  }

  [[nodiscard]] RecordTime record_time() const {
    if (options.is_preview) {
      return options.agent.empty() ? RecordTime::kCalls : RecordTime::kTries;
    }
    return id.empty() ? RecordTime::kAtEnd : RecordTime::kAtOnce;
  }
  /// A transaction in memory has an id only for its records.
  [[nodiscard]] std::string record_id() const {
    constexpr size_t kDigits = 12;
    return id.empty() ? random_hex(kDigits) : id;
  }

  WorkspaceState* workspace;
  TransactionOptions options;
  std::optional<StoredStage> stage;  ///< of a stored transaction
  Overlay overlay;
  std::unique_ptr<CommandRunner> own_runner;
  std::string id;
  Recorder recorder;
  std::string git_message;                ///< of the git commit to make; empty: none
  std::string reason;                     ///< of the current action; may be empty
  std::string unrecorded;                 ///< the last warning of an executor; empty: none
  std::optional<uint64_t> saved_version;  ///< version of the overlay in the stage directory
  Overlay::Entries owners;                ///< the entries when another agent resumed it
  /// Changes per call, oldest first; in a stored transaction only those that are not saved yet.
  std::vector<StagedStep> steps;
  size_t step_paths = 0;  ///< upper bound for the paths in `steps`
  std::optional<TranscriptFile> transcript;
  std::shared_ptr<const RunReport> run_report;  ///< of a run that had ended when it was resumed
  std::optional<Error> unstaged_run;            ///< why the changes of a run cannot be staged
  std::optional<RunFolder> live_run;            ///< of a program that still runs
  bool is_over = false;
  bool is_view = false;  ///< shows an earlier tree; cannot be committed
};

/// Makes the input or output of a record.
[[nodiscard]] JsonDocument json_document(nlohmann::ordered_json json);

}  // namespace galley
