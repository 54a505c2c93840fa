#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/gate.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// Indexes of pieces of a proposal (hunks, whole-file operations), ascending.
using PieceSet = std::vector<size_t>;

/// The judge's answer about one subset.
enum class SubsetAnswer : uint8_t {
  kPasses,
  kFails,
  kUnresolved,  ///< cannot be judged: a piece lacks another one that it needs
};

/// Judges the proposal that consists of only these pieces.
using SubsetJudge = std::function<Result<SubsetAnswer>(const PieceSet&)>;

/// The input of bisect().
struct BisectRequest {
  size_t pieces = 0;  ///< the number of pieces
  SubsetJudge judge;  ///< called on up to `parallel` threads at once
  Deadline deadline;  ///< no judgement begins after it
  size_t parallel = 1;
  size_t max_questions = 2000;
};

/// The result of bisect().
struct BisectResult {
  PieceSet smallest_failing;  ///< if complete, no piece of it can be removed
  PieceSet largest_passing;   ///< if complete, no further piece can be added
  size_t questions = 0;       ///< the number of subsets judged; each is judged once
  bool is_complete = false;   ///< false: the deadline or the limit of questions was reached first
};

/// Splits a refused proposal by delta debugging (Zeller and Hildebrandt, Simplifying and Isolating
/// Failure-Inducing Input, IEEE TSE 28(2), 2002): ddmin finds the smallest failing set, and its
/// counterpart finds the largest passing set. No single piece can be removed from the first or
/// added to the second, but other subsets may be smaller or larger. Both sets were judged.
///
/// Errors: the judge's own; kInvalid `bisect.nothing_fails` if the whole proposal does not fail. If
///         it is unresolved and the deadline has passed, the result is incomplete instead.
[[nodiscard]] Result<BisectResult> bisect(const BisectRequest& request, const Clock& clock);

/// Options for splitting a refused proposal.
struct BisectOptions {
  std::chrono::milliseconds budget{60'000};  ///< no judgement begins after it
  size_t parallel = 0;                       ///< parts judged at once; 0: one for each core
  /// Called before each judgement, on any thread, with the number of judgements so far.
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
  JudgedPart smallest_failing;  ///< if complete, no piece of it can be removed
  JudgedPart largest_passing;   ///< if complete, no further piece can be added
  size_t questions = 0;
  bool is_complete = false;  ///< false: the budget ended first
};

/// Judges one part of a proposal by the gate; called on several threads at once.
using PartJudge = std::function<Result<Verdict>(const Proposal& part, const GateRequest& bounds)>;

/// Finds, by delta debugging over hunks and paths, which part of a proposal the gate refuses.
///
/// A rule that asks counts as an approval, because no person is asked about parts. A part is
/// unresolved if a validator cannot judge it.
/// Errors: the judge's; kInvalid `bisect.nothing_fails` if the whole proposal is not refused.
[[nodiscard]] Result<BisectReport> bisect_proposal(const Proposal& proposal, const PartJudge& judge,
                                                   const BisectOptions& options,
                                                   const Clock& clock);

}  // namespace galley
