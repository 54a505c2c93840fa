#include "engine/policy/validator_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/limits.h"

namespace galley {
namespace {

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
      rest.rule = "gate.too_many_findings";
      rest.severity = Severity::kNote;
      rest.message = fmt::format("{} had {} more findings than are kept", validator.name(),
                                 outcome.findings.size() - limits::kMaxFindings);
      // Errors first, so that cutting the list can never turn a refusal into an approval.
      std::stable_sort(outcome.findings.begin(), outcome.findings.end(),
                       [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
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
  const auto commands =
      std::stable_partition(order.begin(), order.end(), std::not_fn(runs_command));
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

}  // namespace

std::vector<ValidatorOutcome> run_in_parallel(const std::vector<Validator*>& validators,
                                              const ProposedTree& tree, const GateRequest& request,
                                              const Clock& clock, size_t parallel) {
  if (validators.empty()) return {};
  return Pool(validators, tree, request, clock).run(std::min(parallel, validators.size()));
}

}  // namespace galley
