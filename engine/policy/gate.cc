#include "engine/policy/gate.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/policy/finding_rules.h"
#include "engine/policy/validator.h"

namespace galley {
namespace {

/// The result of one validator.
struct ValidatorOutcome {
  ValidatorRun run;
  std::vector<Finding> findings;
};

constexpr std::chrono::milliseconds kDeadlineLook{20};

ValidatorOutcome unavailable(const Validator& validator, std::string why, std::string reason) {
  ValidatorOutcome outcome;
  outcome.run.name = validator.name();
  outcome.run.outcome = ValidatorRun::Outcome::kUnavailable;
  outcome.run.message = std::move(why);
  outcome.run.reason = std::move(reason);
  return outcome;
}

/// A validator is a door to third-party parsers: no exception may leave it.
Result<ValidatorReport> validate_caught(Validator& validator, const ValidatorContext& context) {
  try {
    return validator.validate(context);
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInternal, "validator.failed",
                fmt::format("{} failed: {}", validator.name(), error.what()));
  }
}

ValidatorOutcome run_one(Validator& validator, const ValidatorContext& context) {
  if (context.should_stop())
    return unavailable(validator, "was not started in time", "validator.stopped");
  const auto begin = context.clock.steady();
  auto report = validate_caught(validator, context);
  const auto elapsed = context.clock.steady() - begin;
  ValidatorOutcome outcome;
  if (!report) {
    outcome = unavailable(validator, report.error().message, report.error().reason);
  } else {
    outcome.run.name = validator.name();
    outcome.run.was_cached = report->was_cached;
    outcome.findings = std::move(report->findings);
    outcome.run.findings = outcome.findings.size();
    if (outcome.findings.size() > limits::kMaxFindings) {
      Finding rest;
      rest.rule = kTooManyFindings;
      rest.message = fmt::format("{} had {} more findings than are kept", validator.name(),
                                 outcome.findings.size() - limits::kMaxFindings);
      rest.remedy = "mend some of them, or judge fewer files at once";
      // Errors come first. Those that are kept may be suppressed, so an error that is cut off must
      // refuse by itself.
      std::ranges::stable_sort(outcome.findings, std::greater(), &Finding::severity);
      rest.severity = outcome.findings[limits::kMaxFindings].severity;
      outcome.findings.resize(limits::kMaxFindings);
      outcome.findings.push_back(std::move(rest));
    }
    if (outcome.run.findings > 0) outcome.run.outcome = ValidatorRun::Outcome::kFindings;
  }
  outcome.run.elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
  return outcome;
}

/// The order in which validators are started. One command comes first, so that the tree shared by
/// all commands is made while others judge in this process. The other commands come last, since
/// they would only wait for that tree.
std::vector<size_t> starting_order(const std::vector<Validator*>& validators) {
  std::vector<size_t> order(validators.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto runs_command = [&](size_t index) { return validators[index]->runs_command(); };
  const auto commands = std::ranges::stable_partition(order, std::not_fn(runs_command)).begin();
  if (commands != order.end()) std::rotate(order.begin(), commands, commands + 1);
  return order;
}

/// One parallel run: workers take indexes, the caller waits and reports.
class Pool {
 public:
  Pool(const std::vector<Validator*>& validators, const ProposedTree& tree,
       const GateRequest& request, const Clock& clock)
      : validators_(validators),
        request_(request),
        clock_(clock),
        context_{tree, clock, request.deadline, stop_.get_token()},
        order_(starting_order(validators)),
        outcomes_(validators.size()) {}

  std::vector<ValidatorOutcome> run(size_t parallel) {
    const std::stop_callback forward(request_.stop, [this] { stop_.request_stop(); });
    if (parallel <= 1) {
      work([this](const GateProgress& progress) { report(progress); });
      return std::move(outcomes_);
    }
    std::vector<std::jthread> workers;
    workers.reserve(parallel);
    for (size_t i = 0; i < parallel; ++i) {
      workers.emplace_back(
          [this] { work([this](const GateProgress& progress) { post(progress); }); });
    }
    wait_for_all();
    workers.clear();
    return std::move(outcomes_);
  }

 private:
  template <class Tell>
  void work(const Tell& tell) {
    while (true) {
      size_t index = 0;
      GateProgress progress;
      {
        const std::lock_guard lock(mutex_);
        if (next_ == validators_.size()) return;
        index = order_[next_++];
        progress = {validators_[index]->name(), false, done_, validators_.size()};
      }
      tell(progress);
      ValidatorOutcome outcome = run_one(*validators_[index], context_);
      {
        const std::lock_guard lock(mutex_);
        outcomes_[index] = std::move(outcome);
        progress = {validators_[index]->name(), true, ++done_, validators_.size()};
      }
      tell(progress);
    }
  }

  void post(const GateProgress& progress) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(progress);
    }
    changed_.notify_one();
  }

  void report(const GateProgress& progress) const {
    if (request_.on_progress) request_.on_progress(progress);
  }

  void wait_for_all() {
    size_t reported_done = 0;
    while (reported_done < validators_.size()) {
      std::deque<GateProgress> posted;
      {
        std::unique_lock lock(mutex_);
        const auto has_news = [this] { return !posted_.empty(); };
        if (request_.deadline.is_never()) {
          changed_.wait(lock, has_news);
        } else {
          changed_.wait_for(lock, kDeadlineLook, has_news);
        }
        posted.swap(posted_);
      }
      if (request_.deadline.has_passed(clock_)) stop_.request_stop();
      for (const GateProgress& progress : posted) {
        reported_done += progress.is_done ? 1U : 0U;
        report(progress);
      }
    }
  }

  const std::vector<Validator*>& validators_;
  const GateRequest& request_;
  const Clock& clock_;
  std::stop_source stop_;
  ValidatorContext context_;
  std::vector<size_t> order_;
  std::vector<ValidatorOutcome> outcomes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<GateProgress> posted_;
  size_t next_ = 0;
  size_t done_ = 0;
};

/// Runs validators in parallel, at most `parallel` at once, and waits for all of them. If the
/// deadline passes or the request is stopped, it asks all running validators to stop and waits for
/// them. A stopped validator counts as unavailable.
///
/// Threads: progress is reported on the calling thread.
std::vector<ValidatorOutcome> run_in_parallel(const std::vector<Validator*>& validators,
                                              const ProposedTree& tree, const GateRequest& request,
                                              const Clock& clock, size_t parallel) {
  if (validators.empty()) return {};
  return Pool(validators, tree, request, clock).run(std::min(parallel, validators.size()));
}

/// The approver's name until the real one is known.
constexpr std::string_view kGivenBeforehand = "given beforehand";

Finding finding_of(const Judgement& judgement) {
  Finding finding;
  finding.rule = judgement.id;
  finding.severity = judgement.decision == Decision::kDeny ? Severity::kError : Severity::kWarning;
  finding.path = judgement.path;
  finding.message = judgement.message;
  finding.remedy = judgement.remedy;
  return finding;
}

Refusal refuse(std::string reason, std::string message) {
  return {std::move(reason), std::move(message)};
}

std::string and_more(size_t others, std::string_view what) {
  if (others == 0) return "";
  return " (and " + counted(others, "more " + std::string(what)) + ")";
}

std::string place(const Finding& finding) {
  if (finding.path.empty()) return "";
  if (finding.line == 0) return finding.path + ": ";
  if (finding.column == 0) return fmt::format("{}:{}: ", finding.path, finding.line);
  return fmt::format("{}:{}:{}: ", finding.path, finding.line, finding.column);
}

std::string policy_message(const PolicyReport& report) {
  const auto denied = static_cast<size_t>(
      std::ranges::count(report.judgements, Decision::kDeny, &Judgement::decision));
  const Judgement& first = report.judgements.front();
  return fmt::format("{}{}. To go on: {}.", first.message, and_more(denied - 1, "denial"),
                     first.remedy);
}

/// The refusal that the validators' results require, if any.
std::optional<Refusal> refusal_of(const std::vector<ValidatorOutcome>& outcomes) {
  for (const auto& outcome : outcomes) {
    if (outcome.run.outcome != ValidatorRun::Outcome::kUnavailable) continue;
    if (outcome.run.reason == kNotTrusted) {
      return refuse("gate.not_trusted", fmt::format("validator `{}` was not run: {}",
                                                    outcome.run.name, outcome.run.message));
    }
    return refuse("gate.validator_unavailable",
                  fmt::format("validator `{}` could not judge: {}. A change that cannot be judged "
                              "is refused; fix the validator or its entry in galley.toml.",
                              outcome.run.name, outcome.run.message));
  }
  size_t errors = 0;
  const Finding* first = nullptr;
  std::string_view by;
  for (const auto& outcome : outcomes) {
    for (const Finding& finding : outcome.findings) {
      if (finding.severity != Severity::kError) continue;
      ++errors;
      if (first != nullptr) continue;
      first = &finding;
      by = outcome.run.name;
    }
  }
  if (first == nullptr) return {};
  return refuse("gate.validator_failed",
                fmt::format("validator `{}` refused: {}{}{}{}", by, place(*first), first->message,
                            and_more(errors - 1, "finding"),
                            first->remedy.empty() ? "" : ". To go on: " + first->remedy));
}

/// Turns errors that GateRequest::accepted covers into notes.
void accept_returned(const ChangeSet& changes, const GateRequest& request,
                     const std::vector<Finding*>& findings) {
  if (request.accepted.empty()) return;  // not an undo; it may change nothing, as a validation
  const auto is_accepted = [&](const RelPath& path) {
    return std::ranges::binary_search(request.accepted, path);
  };
  const bool is_whole =
      std::ranges::all_of(changes, [&](const Change& change) { return is_accepted(change.path); });
  for (Finding* finding : findings) {
    if (finding->severity != Severity::kError) continue;
    const auto path = RelPath::parse(finding->path);
    if (!is_whole && !(path && is_accepted(*path))) continue;
    finding->severity = Severity::kNote;
    finding->suppression = kReturnedSuppression;
  }
}

size_t parallel_of(const GateRequest& request, const Config& config) {
  if (request.max_parallel > 0) return request.max_parallel;
  if (config.sandbox.max_parallel > 0) return config.sandbox.max_parallel;
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Error judging_cancelled() {
  return {ErrorKind::kTimeout, "gate.cancelled", "judging was cancelled; nothing was decided"};
}

Gate::Gate(const Config& config, std::vector<std::unique_ptr<Validator>> validators,
           Approver approver, const Clock& clock)
    : config_(&config),
      policy_(config),
      validators_(std::move(validators)),
      approver_(std::move(approver)),
      clock_(&clock) {}

Result<Verdict> Gate::judge(const ProposedTree& tree, const GateRequest& request) {
  GALLEY_ASSIGN(PolicyReport report, policy_.judge(tree, request.who));
  GALLEY_ASSIGN(FindingRules rules, FindingRules::of(*config_, tree));
  Verdict verdict{Refusal(), {}, {}, {}};
  std::vector<Finding> suppression_finding;
  if (report.decision != Decision::kDeny) GALLEY_TRY(rules.judge(report, suppression_finding));
  for (const Judgement& judgement : report.judgements) {
    verdict.findings.push_back(finding_of(judgement));
  }
  std::move(suppression_finding.begin(), suppression_finding.end(),
            std::back_inserter(verdict.findings));
  if (report.decision == Decision::kDeny) {
    verdict.decision = refuse("gate.policy_denied", policy_message(report));
    return verdict;
  }
  GALLEY_ASSIGN(const auto refusal, run_validators(tree, request, rules, verdict));
  if (refusal) {
    verdict.decision = *refusal;
    return verdict;
  }
  if (report.decision != Decision::kAsk) {
    verdict.decision = Approval(tree.proposal().id());
    return verdict;
  }
  GALLEY_ASSIGN(verdict, ask(tree, request, report, rules, std::move(verdict)));
  if (!verdict.is_approved()) return verdict;
  const std::vector<std::string> by = verdict.approved_by == kGivenBeforehand
                                          ? request.approved_by
                                          : std::vector{verdict.approved_by};
  if (const std::string missing = rules.missing_owner(by); !missing.empty()) {
    verdict.decision = refuse(
        "gate.approval_missing",
        fmt::format(
            "{}; {} not one of them. To go on, one of them runs: galley approve {} --by NAME",
            missing,
            by.empty() ? "the person who approved is"
                       : join(by, " and ") + (by.size() > 1 ? " are" : " is"),
            tree.proposal().id().hex()));
  }
  return verdict;
}

Result<std::optional<Refusal>> Gate::run_validators(const ProposedTree& tree,
                                                    const GateRequest& request, FindingRules& rules,
                                                    Verdict& verdict) {
  std::vector<Validator*> concerned;
  for (const auto& validator : validators_) {
    const auto& names = request.who.names();
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return validator->concerns(tree.proposal().changes(), name);
        })) {
      concerned.push_back(validator.get());
    }
  }
  auto outcomes =
      run_in_parallel(concerned, tree, request, *clock_, parallel_of(request, *config_));
  if (request.stop.stop_requested()) return fail(judging_cancelled());
  std::vector<Finding*> findings;
  for (auto& outcome : outcomes) {
    for (Finding& finding : outcome.findings) findings.push_back(&finding);
  }
  rules.apply(findings);
  accept_returned(tree.proposal().changes(), request, findings);
  auto refusal = refusal_of(outcomes);
  for (auto& outcome : outcomes) {
    verdict.runs.push_back(std::move(outcome.run));
    std::move(outcome.findings.begin(), outcome.findings.end(),
              std::back_inserter(verdict.findings));
  }
  return refusal;
}

Result<Verdict> Gate::ask(const ProposedTree& tree, const GateRequest& request,
                          const PolicyReport& report, const FindingRules& rules,
                          Verdict verdict) const {
  const ContentId& id = tree.proposal().id();
  if (contains(request.approved, id)) {
    verdict.approved_by = kGivenBeforehand;
    verdict.decision = Approval(id);
    return verdict;
  }
  const std::string asked =
      report.judgements.front().message + and_more(report.judgements.size() - 1, "question");
  const Refusal nobody_asked =
      refuse("gate.approval_missing",
             fmt::format("{}; no person could be asked, so it is refused. To go "
                         "on, a person reviews it and runs: galley approve {}{}",
                         asked, id.hex(), rules.missing_owner({}).empty() ? "" : " --by NAME"));
  if (!approver_) {
    verdict.decision = nobody_asked;
    return verdict;
  }
  ApprovalQuestion question{tree.proposal(), request.who.names(), {}, verdict.findings};
  for (const Judgement& judgement : report.judgements) {
    question.questions.push_back(judgement.message);
  }
  GALLEY_ASSIGN(const ApprovalAnswer answer, approver_(question));
  if (answer.proposal != id) {
    verdict.decision =
        refuse("gate.approval_missing",
               fmt::format("the approval was given for proposal {}, not for {}; ask again",
                           answer.proposal.hex(), id.hex()));
    return verdict;
  }
  if (!answer.is_yes) {
    verdict.decision = nobody_asked;
    if (answer.was_asked) {
      const std::string by = answer.by.empty() ? "the approver" : answer.by;
      verdict.decision = refuse("gate.approval_missing", fmt::format("{}; {} refused", asked, by));
    }
    return verdict;
  }
  verdict.approved_by = answer.by;
  verdict.decision = Approval(id);
  return verdict;
}

}  // namespace galley
