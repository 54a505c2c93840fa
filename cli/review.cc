#include "cli/review.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/person.h"
#include "engine/pipeline/inner_transaction.h"
#include "staging/overlay/stage_checks.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// The lines [begin, end) of a proposed file.
struct ProposedLines {
  ProposedFileDiff file;
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] std::string text() const {
    return std::string(Lines(*file.after).span(begin, end));
  }
};

Result<ProposedLines> find_lines(const ReviewedState& seen, const PieceRange& hunks,
                                 uint32_t context) {
  ProposalDiffOptions options;
  options.find_renames = false;
  options.file.context = context;
  GALLEY_ASSIGN(auto files, diff_proposal(seen.proposal, options));
  const auto& pieces = seen.pieces.pieces();
  if (hunks.first <= hunks.last && hunks.last < pieces.size()) {
    const ProposalPiece& first = pieces[hunks.first];
    const ProposalPiece& last = pieces[hunks.last];
    for (ProposedFileDiff& file : files) {
      if (file.diff.new_path != first.path.str() || first.path != last.path) continue;
      if (first.hunk == 0 || last.hunk == 0 || last.hunk > file.diff.hunks.size()) break;
      const uint32_t begin = file.diff.hunks[first.hunk - 1].span.new_begin;
      const uint32_t end = file.diff.hunks[last.hunk - 1].span.new_end;
      return ProposedLines{std::move(file), begin, end};
    }
  }
  return fail(ErrorKind::kUsage, "review.no_hunk",
              fmt::format("change {} has no lines that could be edited", hunks.first + 1));
}

/// Keeps the end of a line, so that the last line of the edit is not joined with the next one.
/// `before` are the lines that `text` replaces.
std::string with_end(std::string text, std::string_view before) {
  const bool needs_end = before.empty() || before.ends_with('\n');
  if (needs_end && !text.empty() && !text.ends_with('\n')) {
    text += before.ends_with("\r\n") ? "\r\n" : "\n";
  }
  return text;
}

}  // namespace

Result<Review> Review::open(Session& session) {
  GALLEY_TRY(refuse_inside_exec("review"));
  if (!session.arguments().global.agent.empty()) {
    return fail(ErrorKind::kRefused, "review.by_agent",
                "only a person may review a transaction: leave out --agent");
  }
  GALLEY_ASSIGN(const Transaction transaction, session.resume());
  return Review(session, transaction.id());
}

Result<ReviewedState> Review::look(uint32_t context) {
  context_ = context;
  GALLEY_ASSIGN(Transaction transaction, session_->resume(tx_));
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session_->gate_progress()));
  // A person thinks now, so no line of progress may be written.
  session_->terminal().release_terminal();
  GALLEY_ASSIGN(ProposalPieces pieces, ProposalPieces::split(preview.proposal, context));
  return ReviewedState{preview.proposal, std::move(pieces), preview.verdict, transaction.options()};
}

Result<Transaction> Review::resume_as_seen(const ContentId& seen, const std::string& message) {
  GALLEY_ASSIGN(Workspace * workspace, session_->open());
  GALLEY_ASSIGN(Transaction transaction,
                message.empty() ? session_->resume(tx_) : workspace->resume(tx_, "", message));
  if (transaction.proposal().id() == seen) return transaction;
  return fail(ErrorKind::kConflict, "review.changed",
              "something else is staged than what was shown; look at it again");
}

Result<void> Review::keep_only(const ReviewedState& seen, const std::vector<size_t>& pieces) {
  GALLEY_ASSIGN(Transaction transaction, resume_as_seen(seen.proposal.id()));
  GALLEY_ASSIGN(const Proposal part, seen.pieces.only(pieces));
  GALLEY_TRY(transaction.savepoint(kBeforeReview));
  return transaction.keep_part(part);
}

Result<void> Review::keep_comments(const std::vector<ReviewComment>& comments) {
  GALLEY_ASSIGN(Transaction transaction, session_->resume(tx_));
  return inner(transaction).keep_comments(comments);
}

Result<std::string> Review::lines_of(const ReviewedState& seen, const PieceRange& hunks) {
  GALLEY_ASSIGN(const ProposedLines lines, find_lines(seen, hunks, context_));
  return lines.text();
}

Result<void> Review::edit_lines(const ReviewedState& seen, const PieceRange& hunks,
                                const std::string& text) {
  GALLEY_ASSIGN(const ProposedLines lines, find_lines(seen, hunks, context_));
  GALLEY_ASSIGN(Transaction transaction, resume_as_seen(seen.proposal.id()));
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(lines.file.diff.new_path));
  GALLEY_TRY(check_encoding(path, *lines.file.after, text));
  const Lines after(*lines.file.after);
  std::string made(after.span(0, lines.begin));
  made += with_end(text, lines.text());
  made += after.span(lines.end, after.size());
  GALLEY_TRY(transaction.stage_edited(path.str(), std::move(made)));
  return transaction.save();
}

Result<CommitOutcome> Review::commit(const ReviewedState& seen, const std::string& message) {
  const ContentId& id = seen.proposal.id();
  GALLEY_ASSIGN(Transaction transaction, resume_as_seen(id, message));
  const auto* refusal = std::get_if<Refusal>(&seen.verdict.decision);
  if (refusal != nullptr && refusal->reason == "gate.approval_missing") {
    GALLEY_ASSIGN(Workspace * workspace, session_->open());
    GALLEY_TRY(workspace->approve(id, "review", session_->transaction_options()));
  }
  return transaction.commit(
      {.tool = "review", .expected = id, .on_progress = session_->gate_progress()});
}

Result<int> run_review(Session& session) {
  GALLEY_ASSIGN(Review review, Review::open(session));
  return session.arguments().tty ? review_on_terminal(session, review)
                                 : review_in_browser(session, review);
}

}  // namespace galley
