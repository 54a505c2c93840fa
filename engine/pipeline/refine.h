#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/pieces.h"
#include "engine/policy/approval.h"
#include "engine/validators/fix.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

struct TransactionOptions;
struct WorkspaceState;

/// What the fixers made of what was staged.
struct FixReport {
  std::vector<FixRun> runs;
  Proposal change;  ///< from what was staged before to what is now: the fixers' own change
};

/// Runs every validator with `fix = true` and stages what each makes of the files it selects.
/// Errors: as run_fixers'; the overlay is then as it was.
[[nodiscard]] Result<FixReport> fix_staged(WorkspaceState& workspace, Overlay& overlay,
                                           const TransactionOptions& who);

/// How a refused proposal is split.
struct BisectOptions {
  std::chrono::milliseconds budget{60'000};  ///< no part is judged after it
  size_t parallel = 0;                       ///< parts judged at once; 0: one for each core
  /// Called, on any thread, before each judgement with how many there were.
  std::function<void(size_t)> on_question;
};

/// One set of pieces that was judged.
struct JudgedPart {
  std::vector<ProposalPiece> pieces;
  Proposal proposal;
  Verdict verdict;
};

/// The ends between which the trouble lies.
struct BisectReport {
  size_t pieces = 0;            ///< of the whole
  JudgedPart smallest_failing;  ///< no piece of it can be left out, when complete
  JudgedPart largest_passing;   ///< no piece can be added, when complete
  size_t questions = 0;
  bool is_complete = false;  ///< false: the budget came first
};

/// Finds, by delta debugging over hunks and paths, which part of a proposal the gate refuses.
///
/// A rule that asks counts as a yes: nobody is asked about parts. A part that a validator cannot
/// judge counts as neither.
/// Errors: kInvalid `bisect.nothing_fails` when the whole is not refused.
[[nodiscard]] Result<BisectReport> bisect_proposal(WorkspaceState& workspace,
                                                   const Proposal& proposal,
                                                   const TransactionOptions& who,
                                                   const BisectOptions& options);

}  // namespace galley
