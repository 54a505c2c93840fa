#include "engine/pipeline/refine.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "engine/pipeline/decide.h"
#include "engine/pipeline/staged_change.h"
#include "engine/validators/bisect.h"

namespace galley {

// --- fixing ---------------------------------------------------------------------------------

Result<FixReport> fix_staged(WorkspaceState& workspace, Overlay& overlay,
                             const TransactionOptions& who) {
  const Overlay::Entries before = overlay.entries();
  const FixRequest request{*workspace.need_runner(who.principals()),
                           workspace.clock(),
                           who.principals(),
                           Deadline(),
                           {}};
  auto runs = run_fixers(workspace.config, overlay, request);
  if (!runs) {
    overlay.restore(before);
    return fail(runs.error());
  }
  return FixReport{*std::move(runs), staged_since(before, overlay)};
}

// --- bisecting ------------------------------------------------------------------------------

namespace {

/// Judges parts of one proposal, from several threads at once.
class PartJudge {
 public:
  PartJudge(WorkspaceState& workspace, const ProposalPieces& pieces, const TransactionOptions& who,
            const BisectOptions& options, Deadline deadline)
      : workspace_(workspace), pieces_(pieces), who_(who), options_(options) {
    request_.deadline = deadline;
    // Made here, so that the threads below only read.
    (void)workspace_.need_runner(who.principals());
    (void)workspace_.need_cache();
  }

  Result<SubsetAnswer> answer(const PieceSet& chosen) {
    if (options_.on_question) options_.on_question(++questions_);
    GALLEY_ASSIGN(const Proposal part, pieces_.only(chosen));
    GALLEY_ASSIGN(const Verdict verdict, judge_part(part));
    if (verdict.is_approved()) return SubsetAnswer::kPasses;
    const std::string& reason = std::get<Refusal>(verdict.decision).reason;
    if (reason == "gate.approval_missing") return SubsetAnswer::kPasses;
    if (reason == "gate.validator_unavailable") return SubsetAnswer::kUnresolved;
    return SubsetAnswer::kFails;
  }

  Result<JudgedPart> part(const PieceSet& chosen) {
    request_.deadline = Deadline();  // mostly answered from the cache by now
    GALLEY_ASSIGN(Proposal part, pieces_.only(chosen));
    GALLEY_ASSIGN(Verdict verdict, judge_part(part));
    std::vector<ProposalPiece> named;
    for (const size_t one : chosen) named.push_back(pieces_.pieces()[one]);
    return JudgedPart{std::move(named), std::move(part), std::move(verdict)};
  }

  void use_one_thread_each() { request_.max_parallel = 1; }

 private:
  Result<Verdict> judge_part(const Proposal& part) {
    return verdict_on(workspace_, part, who_, {request_, {}});
  }

  WorkspaceState& workspace_;
  const ProposalPieces& pieces_;
  const TransactionOptions& who_;
  const BisectOptions& options_;
  GateRequest request_;
  std::atomic<size_t> questions_ = 0;
};

size_t parallel_of(const BisectOptions& options, const Config& config) {
  if (options.parallel > 0) return options.parallel;
  if (config.sandbox.max_parallel > 0) return config.sandbox.max_parallel;
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Result<BisectReport> bisect_proposal(WorkspaceState& workspace, const Proposal& proposal,
                                     const TransactionOptions& who, const BisectOptions& options) {
  GALLEY_ASSIGN(const ProposalPieces pieces, ProposalPieces::split(proposal));
  const Clock& clock = workspace.clock();
  BisectRequest request;
  request.pieces = pieces.pieces().size();
  request.deadline = Deadline::after(clock, options.budget);
  request.parallel = parallel_of(options, workspace.config);
  PartJudge judge(workspace, pieces, who, options, request.deadline);
  if (request.parallel > 1) judge.use_one_thread_each();
  request.judge = [&judge](const PieceSet& chosen) { return judge.answer(chosen); };
  GALLEY_ASSIGN(const BisectResult found, bisect(request, clock));
  GALLEY_ASSIGN(JudgedPart failing, judge.part(found.smallest_failing));
  GALLEY_ASSIGN(JudgedPart passing, judge.part(found.largest_passing));
  return BisectReport{request.pieces, std::move(failing), std::move(passing), found.questions,
                      found.is_complete};
}

}  // namespace galley
