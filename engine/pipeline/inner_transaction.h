#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/transaction.h>
#include "base/rel_path.h"
#include "engine/calls/executor.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/run_capture.h"
#include "engine/stages/kept_outputs.h"
#include "engine/stages/stored_stage.h"
#include "engine/validators/bisect.h"
#include "engine/validators/fix.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// What a commit would meet now.
struct CommitOutlook {
  std::optional<Conflict> conflict;
  std::optional<Preview> merged;  ///< the proposal merged with the present files, and its verdict
};

/// Functions of a transaction for Galley's own rooms. They use types that are not installed, and
/// return more than the functions of Transaction with the same names.
///
/// Ownership: borrows the transaction.
/// Threads:   as Transaction.
/// Errors:    as Transaction.
class InnerTransaction {
 public:
  explicit InnerTransaction(Transaction& outer) : outer_(&outer), state_(outer.state_.get()) {}

  EditResult apply(std::string document, const StageOptions& options, const ReadOptions& reading,
                   EditFormat format);
  /// Runs calls in order. Stages the changes of all calls or of none.
  std::vector<ToolResult> call_all(const std::vector<ToolCall>& calls,
                                   const CallOptions& options = {});
  /// As call_all() with one call, for servers: makes `.galley` for the record. If that fails, a
  /// tool that only reads and runs no program answers with a warning, any other is not run.
  ToolResult call_recorded(ToolCall call, const CallOptions& options);
  /// Returns the warning that actions without an effect could not be recorded, or "".
  [[nodiscard]] const std::string& unrecorded() const;
  /// As Transaction::run, with all options of a command and its whole result.
  Result<CommandResult> run(const Command& command, const CallOptions& options = {});
  /// As Transaction::fix, with the changes of each fixer.
  Result<FixReport> fix();
  /// As Transaction::stage_with_markers, with the number of markers in each file.
  Result<RebaseOutcome> stage_with_markers(const Proposal& proposal);
  /// Lets the commit of this stored transaction be recorded as an undo.
  Result<void> resolve_undo(const ResolvedUndo& undo);
  /// The result of rebase_staged().
  struct StagedRebase {
    std::vector<MergedPath> merged;       ///< paths that were merged or resolved
    std::vector<PathConflict> conflicts;  ///< their changes stay staged as they were
  };
  /// Moves the staged changes to the files that the workspace has now, and saves. A change that
  /// does not fit stays as it was, with its old base, so that the next commit is a conflict, too.
  /// `resolutions` decide conflicts, all or none. Contents that the caller may not read are left
  /// out.
  /// Errors: kConflict `resolve.changed`; kUsage `resolve.choices`, `resolve.no_conflict`,
  ///         `resolve.directory`; kQuota `limit.file_size`.
  Result<StagedRebase> rebase_staged(const std::map<RelPath, Resolution>& resolutions = {});
  /// Returns the conflicts that rebase_staged() would find. Changes nothing.
  Result<std::vector<PathConflict>> conflicts();
  /// Returns what Transaction::commit() would meet now. Changes nothing.
  Result<CommitOutlook> look_ahead(const CommitRequest& request);
  /// The result of sync_run().
  struct SyncedRun {
    std::vector<RelPath> taken;           ///< paths that the run has not changed
    std::vector<MergedPath> merged;       ///< paths that both sides changed
    std::vector<PathConflict> conflicts;  ///< the run keeps these as they were
    std::vector<RelPath> skipped;         ///< paths that the program changed at that moment
  };
  /// Gives the live run of this transaction what others committed since it began, as if the program
  /// had begun with it: into its view, and as the base of its changes. The program is not paused.
  /// Call it when the program waits: a write at the same moment may be lost. Stages nothing.
  /// Errors: kNotFound `run.not_found`; kRefused `run.not_pinned`; kConflict `run.file_changes`.
  Result<SyncedRun> sync_run();
  /// Returns a sentence for each of these paths whose staged change a rule asks a person about, at
  /// most kMaxAnnounced. Rules about the whole proposal are left to the gate.
  [[nodiscard]] std::vector<std::string> questions_about(
      const std::vector<std::string>& paths) const;
  static constexpr size_t kMaxAnnounced = 5;  ///< rules that the answer of a call announces
  /// Keeps an output of a call of this stored transaction until it ends, within the limits of
  /// engine/stages/kept_outputs.h. The record of the call exists already.
  /// Errors: kUsage `transaction.not_stored`, `output.name`.
  Result<void> keep_output(const OutputName& name, std::string_view text);
  /// Returns an output that the same agent kept.
  /// Errors: kNotFound `output.not_found`; kUsage as keep_output().
  Result<std::string> kept_output(const OutputName& name) const;
  /// Keeps what a person wrote about this stored transaction, in place of earlier comments, until
  /// the transaction ends. The record names them.
  /// Errors: kUsage `transaction.not_stored`; kQuota `limit.comments`.
  Result<void> keep_comments(const std::vector<ReviewComment>& comments);
  /// Returns what a person wrote about it last; nothing in a transaction that is not stored.
  [[nodiscard]] std::vector<ReviewComment> comments() const;
  /// As Transaction::rollback, with the ids and the result of the call that asks on record.
  Result<void> rollback(const CallOptions& call, JsonDocument result);
  /// Finds the smallest part of the staged changes that the gate refuses.
  Result<BisectReport> bisect(const BisectOptions& options);
  /// Starts a program on the view of a stored transaction and returns while it runs. It needs the
  /// permissions of the tool `Bash`. Its changes are staged when the transaction is resumed later.
  /// Errors: kTimeout `run.live` if a program already runs; kUsage `run.name`, `run.in_memory`.
  Result<std::unique_ptr<StartedRun>> start_run(const RunRequest& request);
  /// Returns the summary of a run that had ended when the transaction was resumed, or null.
  [[nodiscard]] const RunReport* ended_run() const;

 private:
  Result<std::unique_ptr<StartedRun>> start_recorded(const RunRequest& request,
                                                     const std::string& execution);
  Result<PartialRebase> plan_rebase(const std::map<RelPath, Resolution>& resolutions);
  Transaction* outer_;
  Transaction::State* state_;
};

[[nodiscard]] inline InnerTransaction inner(Transaction& transaction) {
  return InnerTransaction(transaction);
}

/// Returns the staged changes. Only the transaction itself can change them.
[[nodiscard]] const Overlay& overlay_of(const Transaction& transaction);

}  // namespace galley
