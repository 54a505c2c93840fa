#pragma once

#include <memory>
#include <string>
#include <vector>

#include <galley/transaction.h>
#include "engine/history/rebase.h"
#include "engine/pipeline/run_capture.h"
#include "engine/validators/bisect.h"
#include "engine/validators/fix.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// What Galley's own rooms ask of a transaction beside what the library offers: with types that are
/// not installed, and more in the answer.
///
/// Ownership: borrows the transaction. Threads and errors: as Transaction's.
class InnerTransaction {
 public:
  explicit InnerTransaction(Transaction& outer) : outer_(&outer), state_(outer.state_.get()) {}

  EditResult apply(std::string document, const StageOptions& options, const ReadOptions& reading,
                   EditFormat format);
  /// Runs several calls in order; all of them are staged, or none.
  std::vector<ToolResult> call_all(const std::vector<ToolCall>& calls,
                                   const CallOptions& options = {});
  /// As Transaction::run, with everything a command can be told and its result tells.
  Result<CommandResult> run(const Command& command, const CallOptions& options = {});
  /// As Transaction::fix, with what each fixer did.
  Result<FixReport> fix();
  /// As Transaction::stage_with_markers, with where the markers are.
  Result<RebaseOutcome> stage_with_markers(const Proposal& proposal);
  /// Which part of what is staged the gate refuses.
  Result<BisectReport> bisect(const BisectOptions& options);
  /// Starts a program on the view of a stored transaction and returns while it runs. It counts as
  /// the tool `Bash`. What it writes is staged when the transaction is resumed after its end.
  /// Errors: kTimeout `run.live` when one runs already; kUsage `run.name`, `run.in_memory`.
  Result<std::unique_ptr<StartedRun>> start_run(const RunRequest& request);
  /// What resuming made of a run that was over; null when there was none.
  [[nodiscard]] const RunReport* ended_run() const;

 private:
  Result<std::unique_ptr<StartedRun>> start_on_record(const RunRequest& request,
                                                      const std::string& execution);
  Transaction* outer_;
  Transaction::State* state_;
};

[[nodiscard]] inline InnerTransaction inner(Transaction& transaction) {
  return InnerTransaction(transaction);
}

/// What a transaction has staged; it is changed by the transaction alone.
[[nodiscard]] const Overlay& overlay_of(const Transaction& transaction);

}  // namespace galley
