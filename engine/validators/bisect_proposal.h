#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/approval.h"
#include "engine/policy/gate.h"
#include "staging/overlay/proposal.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

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

/// Asks the gate about one part of a proposal; called from several threads at once.
using PartJudge = std::function<Result<Verdict>(const Proposal& part, const GateRequest& bounds)>;

/// Finds, by delta debugging over hunks and paths, which part of a proposal the gate refuses.
///
/// A rule that asks counts as a yes: nobody is asked about parts. A part that a validator cannot
/// judge counts as neither.
/// Errors: the judge's; kInvalid `bisect.nothing_fails` when the whole is not refused.
[[nodiscard]] Result<BisectReport> bisect_proposal(const Proposal& proposal, const PartJudge& judge,
                                                   const BisectOptions& options,
                                                   const Clock& clock);

}  // namespace galley
