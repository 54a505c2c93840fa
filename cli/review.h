#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/gate.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/overlay/proposal_pieces.h"

namespace galley {

/// The state that a reviewer sees at one time.
struct ReviewedState {
  Proposal proposal;
  ProposalPieces pieces;
  Verdict verdict;
  TransactionOptions who;
};

/// A range of pieces, inclusive: indexes into ReviewedState::pieces.
struct PieceRange {
  size_t first = 0;
  size_t last = 0;
};

/// The review of one open transaction by a person. Each step applies only to the proposal that was
/// shown.
///
/// Invariant: every step names the proposal on the screen. If something else is staged now, the
///            step does nothing. Between steps other processes can use the transaction.
/// Ownership: borrows the session.
/// Threads:   confined to one thread.
/// Errors:    kConflict `review.changed` if the staged proposal is not the one that was shown.
class Review {
 public:
  /// Opens the transaction of --tx, or the only one.
  /// Errors: those of Session::resume; kRefused `review.by_agent`, `person.inside_exec`.
  static Result<Review> open(Session& session);

  [[nodiscard]] const std::string& tx() const { return tx_; }
  /// Returns the staged proposal with the verdict of the gate. Its pieces have `context` lines
  /// around each change.
  Result<ReviewedState> look(uint32_t context);
  /// Keeps only these pieces. The state before it is stored as the savepoint `kBeforeReview`.
  Result<void> keep_only(const ReviewedState& seen, const std::vector<size_t>& pieces);
  /// Returns the proposed lines of consecutive hunks of one file, from the first to the last, with
  /// context.
  /// Errors: kUsage `review.no_hunk` for a piece that is not a hunk.
  Result<std::string> lines_of(const ReviewedState& seen, const PieceRange& hunks);
  /// Stages `text` in place of these lines.
  Result<void> edit_lines(const ReviewedState& seen, const PieceRange& hunks,
                          const std::string& text);
  /// Commits the proposal that was shown, and approves it if a rule asks a person. An empty
  /// `message` keeps that of the transaction.
  Result<CommitOutcome> commit(const ReviewedState& seen, const std::string& message = {});

  /// Keeps the comments for the agents of the transaction, in place of earlier ones.
  Result<void> keep_comments(const std::vector<ReviewComment>& comments);

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
