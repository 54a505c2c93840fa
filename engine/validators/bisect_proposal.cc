#include "engine/validators/bisect_proposal.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "engine/validators/bisect.h"

namespace galley {
namespace {

/// Asks the judge about parts of one proposal, from several threads at once.
class Parts {
 public:
  Parts(const ProposalPieces& pieces, const PartJudge& judge, const BisectOptions& options)
      : pieces_(pieces), judge_(judge), options_(options) {}

  Result<SubsetAnswer> answer(const PieceSet& chosen, const GateRequest& bounds) {
    if (options_.on_question) options_.on_question(++questions_);
    GALLEY_ASSIGN(const Proposal part, pieces_.only(chosen));
    GALLEY_ASSIGN(const Verdict verdict, judge_(part, bounds));
    if (verdict.is_approved()) return SubsetAnswer::kPasses;
    const std::string& reason = std::get<Refusal>(verdict.decision).reason;
    if (reason == "gate.approval_missing") return SubsetAnswer::kPasses;
    if (reason == "gate.validator_unavailable") return SubsetAnswer::kUnresolved;
    return SubsetAnswer::kFails;
  }

  Result<JudgedPart> judged(const PieceSet& chosen, const GateRequest& bounds) {
    GALLEY_ASSIGN(Proposal part, pieces_.only(chosen));
    GALLEY_ASSIGN(Verdict verdict, judge_(part, bounds));
    std::vector<ProposalPiece> named;
    for (const size_t one : chosen) named.push_back(pieces_.pieces()[one]);
    return JudgedPart{std::move(named), std::move(part), std::move(verdict)};
  }

 private:
  const ProposalPieces& pieces_;
  const PartJudge& judge_;
  const BisectOptions& options_;
  std::atomic<size_t> questions_ = 0;
};

}  // namespace

Result<BisectReport> bisect_proposal(const Proposal& proposal, const PartJudge& judge,
                                     const BisectOptions& options, const Clock& clock) {
  GALLEY_ASSIGN(const ProposalPieces pieces, ProposalPieces::split(proposal));
  Parts parts(pieces, judge, options);
  BisectRequest request;
  request.pieces = pieces.pieces().size();
  request.deadline = Deadline::after(clock, options.budget);
  request.parallel =
      options.parallel > 0 ? options.parallel : std::max(1U, std::thread::hardware_concurrency());
  GateRequest bounds;
  if (request.parallel > 1) bounds.max_parallel = 1;  // the parts themselves run side by side
  GateRequest within_budget = bounds;
  within_budget.deadline = request.deadline;
  request.judge = [&](const PieceSet& chosen) { return parts.answer(chosen, within_budget); };
  GALLEY_ASSIGN(const BisectResult found, bisect(request, clock));
  // Mostly answered from the cache by now, so these have no deadline.
  GALLEY_ASSIGN(JudgedPart failing, parts.judged(found.smallest_failing, bounds));
  GALLEY_ASSIGN(JudgedPart passing, parts.judged(found.largest_passing, bounds));
  return BisectReport{request.pieces, std::move(failing), std::move(passing), found.questions,
                      found.is_complete};
}

}  // namespace galley
