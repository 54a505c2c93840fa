#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/gate.h"
#include "staging/overlay/proposal.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// Indexes of pieces of a proposal (hunks, whole-file operations), ascending.
using PieceSet = std::vector<size_t>;

/// The judge's answer about one subset.
enum class SubsetAnswer : uint8_t {
  kPasses,
  kFails,
  kUnresolved,  ///< cannot be judged: pieces that need each other were separated
};

/// Judges the proposal that consists of only these pieces.
using SubsetJudge = std::function<Result<SubsetAnswer>(const PieceSet&)>;

struct BisectRequest {
  size_t pieces = 0;  ///< the number of pieces
  SubsetJudge judge;  ///< called from up to `parallel` threads at once
  Deadline deadline;  ///< no subset is judged after it
  size_t parallel = 1;
  size_t max_questions = 2000;
};

struct BisectResult {
  PieceSet smallest_failing;  ///< no piece of it can be left out (when complete)
  PieceSet largest_passing;   ///< no further piece can be added (when complete)
  size_t questions = 0;       ///< the number of subsets judged; each is judged once
  bool is_complete = false;   ///< false: the deadline or the limit of questions was reached first
};

/// Splits a refused proposal by delta debugging: ddmin for the smallest failing set and its
/// counterpart for the largest passing one (Zeller and Hildebrandt, Simplifying and Isolating
/// Failure-Inducing Input, IEEE TSE 28(2), 2002). The results are minimal and maximal with respect
/// to single pieces, not among all subsets. Nothing is assumed about the judge: every set in the
/// result was judged.
///
/// Errors: the judge's own; kInvalid `bisect.nothing_fails` when the whole proposal does not fail.
[[nodiscard]] Result<BisectResult> bisect(const BisectRequest& request, const Clock& clock);

/// Options for splitting a refused proposal.
struct BisectOptions {
  std::chrono::milliseconds budget{60'000};  ///< no part is judged after it
  size_t parallel = 0;                       ///< parts judged at once; 0: one for each core
  /// Called, on any thread, before each judgement with the number of judgements so far.
  std::function<void(size_t)> on_question;
};

/// One set of pieces that was judged.
struct JudgedPart {
  std::vector<ProposalPiece> pieces;
  Proposal proposal;
  Verdict verdict;
};

/// The smallest failing and the largest passing part of a proposal.
struct BisectReport {
  size_t pieces = 0;            ///< of the whole proposal
  JudgedPart smallest_failing;  ///< no piece of it can be left out, when complete
  JudgedPart largest_passing;   ///< no piece can be added, when complete
  size_t questions = 0;
  bool is_complete = false;  ///< false: the budget ended first
};

/// Judges one part of a proposal by the gate; called from several threads at once.
using PartJudge = std::function<Result<Verdict>(const Proposal& part, const GateRequest& bounds)>;

/// Finds, by delta debugging over hunks and paths, which part of a proposal the gate refuses.
///
/// A rule that asks counts as an approval, because no person is asked about parts. A part that a
/// validator cannot judge counts as neither.
/// Errors: the judge's; kInvalid `bisect.nothing_fails` when the whole proposal is not refused.
[[nodiscard]] Result<BisectReport> bisect_proposal(const Proposal& proposal, const PartJudge& judge,
                                                   const BisectOptions& options,
                                                   const Clock& clock);

}  // namespace galley
