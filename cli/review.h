#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/gate.h"
#include "staging/overlay/proposal.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// What a reviewer is shown at one time.
struct ReviewedState {
  Proposal proposal;
  ProposalPieces pieces;
  Verdict verdict;
  TransactionOptions who;
};

/// Pieces from the first to the last, both included: indexes into ReviewedState::pieces.
struct PieceRange {
  size_t first = 0;
  size_t last = 0;
};

/// A person's review of one open transaction: what is left out, edited and committed is exactly
/// what was shown.
///
/// Invariant: every step names the proposal that was on the screen; when something else is staged
///            by then, nothing is done. Between the steps the transaction is open to others.
/// Ownership: borrows the session.
/// Threads:   confined to one thread.
/// Errors:    kConflict `review.changed` for a step on what is no longer staged.
class Review {
 public:
  /// Takes the transaction of --tx, or the only one.
  /// Errors: those of Session::resume; kRefused `review.by_agent`, `person.inside_exec`.
  static Result<Review> open(Session& session);

  [[nodiscard]] const std::string& tx() const { return tx_; }
  /// What is staged now, in pieces with so many lines of context, and what the gate says of it.
  Result<ReviewedState> look(uint32_t context);
  /// Goes on with these pieces alone; what was staged before is kept as the savepoint
  /// `kBeforeReview`.
  Result<void> keep_only(const ReviewedState& seen, const std::vector<size_t>& pieces);
  /// The lines from the first to the last of some hunks of one file, as they are proposed, context
  /// included.
  /// Errors: kUsage `review.no_hunk` for a piece that is no hunk.
  Result<std::string> lines_of(const ReviewedState& seen, const PieceRange& hunks);
  /// Stages `text` in their place.
  Result<void> edit_lines(const ReviewedState& seen, const PieceRange& hunks,
                          const std::string& text);
  /// Commits what was seen, and approves it where a rule asks a person. `message` is why; empty: as
  /// the transaction has it.
  Result<CommitOutcome> commit(const ReviewedState& seen, const std::string& message = {});

  static constexpr const char* kBeforeReview = "before-review";

 private:
  Review(Session& session, std::string tx) : session_(&session), tx_(std::move(tx)) {}
  Result<Transaction> resume_as_seen(const ContentId& seen, const std::string& message = {});

  Session* session_;
  std::string tx_;
  uint32_t context_ = 3;
};

// The two ways to review; each returns the exit status.
Result<int> review_on_terminal(Session& session, Review& review);
Result<int> review_in_browser(Session& session, Review& review);

}  // namespace galley
