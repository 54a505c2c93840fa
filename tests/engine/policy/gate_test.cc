#include "engine/policy/gate.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "policy_fixture.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

TEST(Approval, OnlyAGateMakesOne) {
  EXPECT_FALSE(std::is_default_constructible_v<Approval>);
  EXPECT_FALSE((std::is_constructible_v<Approval, ContentId>));
  EXPECT_FALSE((std::is_constructible_v<Approval, Verdict>));
}

/// A validator that does what the test says.
class ScriptedValidator final : public Validator {
 public:
  using Script = std::function<Result<ValidatorReport>(const ValidatorContext&)>;
  ScriptedValidator(std::string name, Script script, bool runs_command)
      : name_(std::move(name)), script_(std::move(script)), runs_command_(runs_command) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] bool concerns(const ChangeSet& changes, const std::string&) const override {
    return !changes.empty();
  }
  [[nodiscard]] bool runs_command() const override { return runs_command_; }
  Result<ValidatorReport> validate(const ValidatorContext& context) override {
    return script_(context);
  }

 private:
  std::string name_;
  Script script_;
  bool runs_command_;
};

Finding finding(Severity severity) {
  Finding one;
  one.rule = "test.rule";
  one.severity = severity;
  one.path = "src/a.c";
  one.line = 3;
  one.column = 7;
  one.message = "something is wrong";
  one.remedy = "put it right";
  return one;
}

class GateTest : public PolicyFixture {
 protected:
  GateTest() { EXPECT_TRUE(overlay_.write(rel("src/a.c"), "int changed;\n")); }

  void add(std::string name, ScriptedValidator::Script script, bool runs_command = false) {
    validators_.push_back(
        std::make_unique<ScriptedValidator>(std::move(name), std::move(script), runs_command));
  }

  Result<Verdict> try_judge(GateRequest request = {}, Approver approver = {}) {
    const Proposal proposal = freeze();
    const ProposedTree tree(proposal, workspace_.directory());
    Gate gate(config_, std::move(validators_), std::move(approver), clock_);
    return gate.judge(tree, request);
  }
  Verdict judge_all(GateRequest request = {}, Approver approver = {}) {
    auto verdict = try_judge(std::move(request), std::move(approver));
    EXPECT_TRUE(verdict) << verdict.error().message;
    return *verdict;
  }
  static std::string reason(const Verdict& verdict) {
    return verdict.is_approved() ? "approved" : std::get<Refusal>(verdict.decision).reason;
  }
  static std::string message(const Verdict& verdict) {
    return verdict.is_approved() ? "approved" : std::get<Refusal>(verdict.decision).message;
  }

  std::vector<std::unique_ptr<Validator>> validators_;
};

TEST_F(GateTest, ApprovalNamesTheProposalThatWasJudged) {
  const Verdict verdict = judge_all();
  ASSERT_TRUE(verdict.is_approved());
  EXPECT_EQ(std::get<Approval>(verdict.decision).proposal(), freeze().id());
}

TEST_F(GateTest, DenialSparesTheValidatorsAndSaysWhatToDo) {
  configure("[policy]\nprotected = [\"src/\"]\n");
  bool ran = false;
  add("never", [&](const ValidatorContext&) -> Result<ValidatorReport> {
    ran = true;
    return ValidatorReport();
  });
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.policy_denied");
  EXPECT_THAT(message(verdict), HasSubstr("src/a.c: modify is denied by `policy.protected` "
                                          "(galley.toml:2)"));
  EXPECT_THAT(message(verdict), HasSubstr("To go on: "));
  EXPECT_FALSE(ran);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].rule, "policy.path");
}

TEST_F(GateTest, ErrorFindingRefusesAndWarningDoesNot) {
  add("warns", [](const ValidatorContext&) -> Result<ValidatorReport> {
    return ValidatorReport{{finding(Severity::kWarning)}, false};
  });
  EXPECT_EQ(reason(judge_all()), "approved");
  add("refuses", [](const ValidatorContext&) -> Result<ValidatorReport> {
    return ValidatorReport{{finding(Severity::kWarning), finding(Severity::kError)}, true};
  });
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.validator_failed");
  EXPECT_EQ(message(verdict),
            "validator `refuses` refused: src/a.c:3:7: something is wrong. To go on: put it right");
  ASSERT_EQ(verdict.runs.size(), 1U);
  EXPECT_TRUE(verdict.runs[0].was_cached);
  EXPECT_EQ(verdict.runs[0].findings, 2U);
}

TEST_F(GateTest, ValidatorThatCannotRunIsARefusal) {
  add("broken", [](const ValidatorContext&) -> Result<ValidatorReport> {
    return fail(ErrorKind::kNotFound, "x", "no such program: lint");
  });
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.validator_unavailable");
  EXPECT_THAT(message(verdict), HasSubstr("validator `broken` could not judge: no such program"));
}

TEST_F(GateTest, ExceptionOfAValidatorIsARefusal) {
  add("throws", [](const ValidatorContext&) -> Result<ValidatorReport> {
    throw std::runtime_error("library fell over");
  });
  EXPECT_EQ(reason(judge_all()), "gate.validator_unavailable");
}

TEST_F(GateTest, RunsValidatorsSideBySide) {
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  const auto meet = [&](const ValidatorContext&) -> Result<ValidatorReport> {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return inside >= 2; });  // hangs unless both are in here at once
    return ValidatorReport();
  };
  add("one", meet);
  add("two", meet);
  GateRequest request;
  request.max_parallel = 2;
  EXPECT_EQ(reason(judge_all(request)), "approved");
}

TEST_F(GateTest, OneCommandStartsFirstAndTheOthersLast) {
  std::vector<std::string> started;
  for (const std::string name : {"text", "make", "size", "lint"}) {
    const bool runs_command = name == "make" || name == "lint";
    add(
        name,
        [&started, name](const ValidatorContext&) -> Result<ValidatorReport> {
          started.push_back(name);
          return ValidatorReport();
        },
        runs_command);
  }
  GateRequest request;
  request.max_parallel = 1;
  const Verdict verdict = judge_all(request);
  EXPECT_THAT(started, testing::ElementsAre("make", "text", "size", "lint"));
  ASSERT_EQ(verdict.runs.size(), 4U);
  EXPECT_EQ(verdict.runs[0].name, "text");  // told in the order of the configuration
  EXPECT_EQ(verdict.runs[3].name, "lint");
}

TEST_F(GateTest, NeverRunsMoreThanAllowedAtOnce) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  for (int i = 0; i < 12; ++i) {
    add("v" + std::to_string(i), [&](const ValidatorContext&) -> Result<ValidatorReport> {
      const int now = ++inside;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::yield();
      --inside;
      return ValidatorReport();
    });
  }
  GateRequest request;
  request.max_parallel = 3;
  size_t begun = 0;
  size_t done = 0;
  const auto caller = std::this_thread::get_id();
  request.on_progress = [&](const GateProgress& progress) {
    EXPECT_TRUE(std::this_thread::get_id() == caller);
    (progress.is_done ? done : begun) += 1;
    EXPECT_EQ(progress.total, 12U);
  };
  const Verdict verdict = judge_all(request);
  EXPECT_EQ(reason(verdict), "approved");
  EXPECT_LE(most, 3);
  EXPECT_EQ(begun, 12U);
  EXPECT_EQ(done, 12U);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(verdict.runs[i].name, "v" + std::to_string(i));
}

TEST_F(GateTest, StoppedRequestIsAnErrorNotAVerdict) {
  std::stop_source stop;
  const auto wait = [&](const ValidatorContext& context) -> Result<ValidatorReport> {
    stop.request_stop();
    while (!context.should_stop()) std::this_thread::yield();
    return fail(ErrorKind::kTimeout, "validator.stopped", "stopped");
  };
  add("waits", wait);
  add("waits too", wait);
  GateRequest request;
  request.stop = stop.get_token();
  request.max_parallel = 2;
  const auto verdict = try_judge(request);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().reason, "gate.cancelled");
}

TEST_F(GateTest, PassedDeadlineIsARefusal) {
  add("late", [](const ValidatorContext&) -> Result<ValidatorReport> { return ValidatorReport(); });
  add("later",
      [](const ValidatorContext&) -> Result<ValidatorReport> { return ValidatorReport(); });
  GateRequest request;
  request.deadline = Deadline::after(clock_, std::chrono::milliseconds(-1));
  EXPECT_EQ(reason(judge_all(request)), "gate.validator_unavailable");
}

TEST_F(GateTest, TooManyFindingsNeverHideAnError) {
  add("noisy", [](const ValidatorContext&) -> Result<ValidatorReport> {
    ValidatorReport report;
    report.findings.assign(20'000, finding(Severity::kNote));
    report.findings.push_back(finding(Severity::kError));
    return report;
  });
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.validator_failed");
  EXPECT_EQ(verdict.findings.size(), 10'001U);
}

class GateAsk : public GateTest {
 protected:
  GateAsk() {
    configure("[[policy.rule]]\nname = \"care\"\npaths = [\"src/\"]\ndecision = \"ask\"\n");
  }
  static Approver answer(bool is_yes, const ContentId& proposal) {
    return [=](const ApprovalQuestion&) -> Result<ApprovalAnswer> {
      return ApprovalAnswer{proposal, is_yes, "ann"};
    };
  }
};

TEST_F(GateAsk, NobodyThereMeansNo) {
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.approval_missing");
  EXPECT_THAT(message(verdict), HasSubstr("`care` (galley.toml:1)"));
  EXPECT_THAT(message(verdict), HasSubstr(freeze().id().hex()));
}

TEST_F(GateAsk, YesApprovesAndNoRefuses) {
  const Verdict yes = judge_all({}, answer(true, freeze().id()));
  EXPECT_EQ(reason(yes), "approved");
  EXPECT_EQ(yes.approved_by, "ann");
  EXPECT_EQ(reason(judge_all({}, answer(false, freeze().id()))), "gate.approval_missing");
}

TEST_F(GateAsk, YesToAnotherProposalDoesNotCount) {
  const ContentId earlier = freeze().id();
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "int more;\n"));
  EXPECT_EQ(reason(judge_all({}, answer(true, earlier))), "gate.approval_missing");
  GateRequest request;
  request.approved = {earlier};
  EXPECT_EQ(reason(judge_all(request)), "gate.approval_missing");
  request.approved.push_back(freeze().id());
  EXPECT_EQ(reason(judge_all(request)), "approved");
}

TEST_F(GateAsk, QuestionIsAskedAfterTheValidatorsAndShowsTheirFindings) {
  add("warns", [](const ValidatorContext&) -> Result<ValidatorReport> {
    return ValidatorReport{{finding(Severity::kWarning)}, false};
  });
  const ContentId id = freeze().id();
  size_t findings = 0;
  judge_all({}, [&](const ApprovalQuestion& question) -> Result<ApprovalAnswer> {
    findings = question.findings.size();
    EXPECT_EQ(question.questions.size(), 1U);
    return ApprovalAnswer{id, true, "ann"};
  });
  EXPECT_EQ(findings, 2U) << "the question itself and the warning";
}

}  // namespace
}  // namespace galley
