#include "engine/validators/bisect.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

namespace galley {

namespace {

PieceSet without(const PieceSet& all, const PieceSet& some) {
  PieceSet out;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(out));
  return out;
}

PieceSet together(const PieceSet& a, const PieceSet& b) {
  PieceSet out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

std::vector<PieceSet> split(const PieceSet& set, size_t parts) {
  std::vector<PieceSet> out;
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = i * set.size() / parts;
    const size_t end = (i + 1) * set.size() / parts;
    if (begin < end) {
      out.emplace_back(set.begin() + static_cast<ptrdiff_t>(begin),
                       set.begin() + static_cast<ptrdiff_t>(end));
    }
  }
  return out;
}

/// Judges several subsets at once and remembers every answer.
class Questions {
 public:
  Questions(const BisectRequest& request, const Clock& clock) : request_(request), clock_(clock) {}

  /// The index of the first of `sets` with the answer `wanted`; judges `parallel` sets at a time.
  std::optional<size_t> first(const std::vector<PieceSet>& sets, SubsetAnswer wanted) {
    const size_t step = std::max<size_t>(1, request_.parallel);
    for (size_t begin = 0; begin < sets.size(); begin += step) {
      const size_t end = std::min(sets.size(), begin + step);
      ask(sets, begin, end);
      for (size_t i = begin; i < end; ++i) {
        const auto answer = answers_.find(sets[i]);
        if (answer != answers_.end() && answer->second == wanted) return i;
      }
      if (has_ended()) return {};
    }
    return {};
  }

  [[nodiscard]] bool has_ended() const { return is_over_ || error_.has_value(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] const std::map<PieceSet, SubsetAnswer>& answers() const { return answers_; }

 private:
  void ask(const std::vector<PieceSet>& sets, size_t begin, size_t end) {
    std::vector<const PieceSet*> open;
    for (size_t i = begin; i < end; ++i) {
      const bool is_known = answers_.contains(sets[i]) ||
                            std::any_of(open.begin(), open.end(),
                                        [&](const PieceSet* one) { return *one == sets[i]; });
      if (!is_known) open.push_back(&sets[i]);
    }
    if (open.empty()) return;
    if (request_.deadline.has_passed(clock_) || count_ + open.size() > request_.max_questions) {
      is_over_ = true;
      return;
    }
    count_ += open.size();
    std::vector<std::optional<Result<SubsetAnswer>>> results(open.size());
    if (open.size() == 1) {
      results[0] = request_.judge(*open[0]);
    } else {
      std::vector<std::jthread> workers;
      for (size_t i = 0; i < open.size(); ++i) {
        workers.emplace_back([&, i] { results[i] = request_.judge(*open[i]); });
      }
    }
    for (size_t i = 0; i < open.size(); ++i) {
      if (!*results[i]) {
        if (!error_) error_ = results[i]->error();
        continue;
      }
      answers_.emplace(*open[i], **results[i]);
    }
  }

  const BisectRequest& request_;
  const Clock& clock_;
  std::map<PieceSet, SubsetAnswer> answers_;
  std::optional<Error> error_;
  size_t count_ = 0;
  bool is_over_ = false;
};

/// ddmin: returns a failing set of which every piece is needed.
PieceSet minimise_failing(Questions& questions, PieceSet failing) {
  size_t parts = 2;
  while (failing.size() >= 2 && !questions.has_ended()) {
    const auto pieces = split(failing, parts);
    std::vector<PieceSet> rests;
    rests.reserve(pieces.size());
    for (const PieceSet& piece : pieces) rests.push_back(without(failing, piece));
    if (const auto hit = questions.first(pieces, SubsetAnswer::kFails)) {
      failing = pieces[*hit];
      parts = 2;
    } else if (const auto rest = questions.first(rests, SubsetAnswer::kFails)) {
      failing = rests[*rest];
      parts = std::max<size_t>(2, parts - 1);
    } else if (parts >= failing.size()) {
      break;
    } else {
      parts = std::min(failing.size(), parts * 2);
    }
  }
  return failing;
}

/// The counterpart: returns a passing set to which no piece can be added.
PieceSet maximise_passing(Questions& questions, const PieceSet& all, PieceSet passing) {
  size_t parts = 1;
  while (!questions.has_ended()) {
    const PieceSet missing = without(all, passing);
    if (missing.empty()) break;
    const auto pieces = split(missing, std::min(parts, missing.size()));
    std::vector<PieceSet> larger;
    larger.reserve(pieces.size());
    for (const PieceSet& piece : pieces) larger.push_back(together(passing, piece));
    if (const auto hit = questions.first(larger, SubsetAnswer::kPasses)) {
      passing = larger[*hit];
      parts = std::max<size_t>(1, parts - 1);
    } else if (parts >= missing.size()) {
      break;
    } else {
      parts = std::min(missing.size(), parts * 2);
    }
  }
  return passing;
}

/// The largest passing set that minimising has judged: a head start for maximising.
PieceSet largest_known_passing(const Questions& questions) {
  PieceSet best;
  for (const auto& [set, answer] : questions.answers()) {
    if (answer == SubsetAnswer::kPasses && set.size() > best.size()) best = set;
  }
  return best;
}

}  // namespace

Result<BisectResult> bisect(const BisectRequest& request, const Clock& clock) {
  PieceSet all(request.pieces);
  std::iota(all.begin(), all.end(), size_t{0});
  Questions questions(request, clock);
  const auto whole = questions.first({all}, SubsetAnswer::kFails);
  if (questions.error()) return fail(*questions.error());
  // If time ran out, the whole may fail although no validator has refused it.
  const auto answer = questions.answers().find(all);
  const bool is_late = answer != questions.answers().end() &&
                       answer->second == SubsetAnswer::kUnresolved &&
                       request.deadline.has_passed(clock);
  if (!whole && !questions.has_ended() && !is_late) {
    return fail(ErrorKind::kInvalid, "bisect.nothing_fails",
                "the whole proposal is not refused by a validator; there is nothing to split");
  }
  BisectResult result;
  result.smallest_failing = minimise_failing(questions, all);
  result.largest_passing = maximise_passing(questions, all, largest_known_passing(questions));
  if (questions.error()) return fail(*questions.error());
  result.questions = questions.count();
  result.is_complete = !questions.has_ended() && !is_late;
  return result;
}

namespace {

/// Judges parts of one proposal, from several threads at once.
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
  if (request.parallel > 1) bounds.max_parallel = 1;  // the parts themselves are judged in parallel
  GateRequest within_budget = bounds;
  within_budget.deadline = request.deadline;
  request.judge = [&](const PieceSet& chosen) { return parts.answer(chosen, within_budget); };
  GALLEY_ASSIGN(const BisectResult found, bisect(request, clock));
  // Without a deadline, because most answers are in the cache by now.
  GALLEY_ASSIGN(JudgedPart failing, parts.judged(found.smallest_failing, bounds));
  GALLEY_ASSIGN(JudgedPart passing, parts.judged(found.largest_passing, bounds));
  return BisectReport{request.pieces, std::move(failing), std::move(passing), found.questions,
                      found.is_complete};
}

}  // namespace galley
