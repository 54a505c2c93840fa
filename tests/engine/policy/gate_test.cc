#include "engine/policy/gate.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "engine/policy/finding_rules.h"
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

TEST_F(GateTest, ADenialSkipsTheValidatorsAndNamesTheRemedy) {
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

// Limit: kMaxFindings of base/limits.h
TEST_F(GateTest, OfTooManyFindingsTheErrorsAreKeptAndTheRestIsCounted) {
  add("warns a lot", [](const ValidatorContext&) -> Result<ValidatorReport> {
    ValidatorReport report{{}, false};
    report.findings.assign(limits::kMaxFindings + 4, finding(Severity::kWarning));
    report.findings.push_back(finding(Severity::kError));
    return report;
  });
  const Verdict verdict = judge_all();
  EXPECT_EQ(reason(verdict), "gate.validator_failed");
  ASSERT_EQ(verdict.findings.size(), limits::kMaxFindings + 1);
  EXPECT_EQ(verdict.findings.front().severity, Severity::kError);
  EXPECT_EQ(verdict.findings.back().message, "warns a lot had 5 more findings than are kept");
  EXPECT_EQ(verdict.runs[0].findings, limits::kMaxFindings + 5);
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

TEST_F(GateTest, RunsValidatorsInParallel) {
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

TEST_F(GateAsk, WithoutAPersonTheAnswerIsNo) {
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

TEST_F(GateAsk, AYesToAnotherProposalIsNotValid) {
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

/// A gate with one validator, which has something against line 3 of src/a.c.
class JudgedFindings : public GateTest {
 protected:
  static constexpr const char* kValidator = "[[validator]]\nbuiltin = \"json\"\n";

  Verdict judge_with(const std::string& more, GateRequest request = {}, Approver approver = {}) {
    configure(more + kValidator);
    add("test", [this](const ValidatorContext&) -> Result<ValidatorReport> {
      Finding one = finding(Severity::kError);
      one.path = path_;
      one.line = line_;
      return ValidatorReport{{one}, false};
    });
    return judge_all(std::move(request), std::move(approver));
  }
  void propose(const std::string& text) { EXPECT_TRUE(overlay_.write(rel(path_), text)); }
  /// Another file, which the overlay has not looked at yet.
  void base(const std::string& text) {
    path_ = "src/b.c";
    workspace_.write(path_, text);
  }
  static bool has(const Verdict& verdict, std::string_view rule) {
    return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                       [&](const Finding& one) { return one.rule == rule; });
  }

  static std::string baseline_of(const std::string& fingerprint) {
    return R"({"schema": "galley.baseline/2", "findings": [{"fingerprint": ")" + fingerprint +
           "\"}]}";
  }
  void write_baseline(const std::string& fingerprint) {
    workspace_.write("known.json", baseline_of(fingerprint));
  }

  std::string path_ = "src/a.c";
  uint32_t line_ = 3;
  static constexpr const char* kBaseline = "[findings]\nbaseline = \"known.json\"\n";
  static constexpr const char* kSuppressed =
      "int a;\n// galley:allow test.rule -- the vendor's header says so\nint c;\n";
};

TEST_F(JudgedFindings, AnExistingSuppressionSuppressesAFinding) {
  base(kSuppressed);
  propose(std::string(kSuppressed) + "int d;\n");
  const Verdict verdict = judge_with("");
  EXPECT_EQ(reason(verdict), "approved");
  EXPECT_EQ(verdict.findings.at(0).suppression, "the vendor's header says so");
  EXPECT_EQ(verdict.findings.at(0).severity, Severity::kNote);
}

TEST_F(JudgedFindings, AProposedSuppressionNeedsAnApproval) {
  propose(kSuppressed);
  const Verdict verdict = judge_with("");
  EXPECT_EQ(reason(verdict), "gate.approval_missing");
  EXPECT_THAT(message(verdict), HasSubstr("src/a.c:2: a comment suppresses findings of test.rule: "
                                          "the vendor's header says so"));
  EXPECT_TRUE(has(verdict, "suppression.added"));
}

TEST_F(JudgedFindings, AProposedSuppressionWithoutAFindingNeedsAnApproval) {
  propose("int a; // galley:allow other -- later\nint b;\n");
  configure(kValidator);
  EXPECT_EQ(reason(judge_all()), "gate.approval_missing");
}

TEST_F(JudgedFindings, ProposedSuppressionsCanBeDeniedOrAllowed) {
  propose(kSuppressed);
  const Verdict denied = judge_with("[findings]\nadded_suppressions = \"deny\"\n");
  EXPECT_EQ(reason(denied), "gate.policy_denied");
  const Verdict told = judge_with("[findings]\nadded_suppressions = \"allow\"\n");
  EXPECT_EQ(reason(told), "approved");
  EXPECT_TRUE(has(told, "suppression.added"));
}

TEST_F(JudgedFindings, SuppressionWithoutAReasonSuppressesNothingAndIsAFinding) {
  propose("int a;\n// galley:allow test.rule\nint c;\n");
  const Verdict verdict = judge_with("");
  EXPECT_EQ(reason(verdict), "gate.validator_failed");
  EXPECT_TRUE(has(verdict, "suppression.no_reason"));
}

TEST_F(JudgedFindings, ASuppressionMovedToOtherCodeIsNew) {
  base("// galley:allow test.rule -- here\nint a;\nint b;\n");
  propose("int a;\n// galley:allow test.rule -- here\nint b;\n");
  EXPECT_EQ(reason(judge_with("")), "gate.approval_missing");
}

TEST_F(JudgedFindings, ErrorsBeyondTheLimitRefuseAlsoIfAllOthersAreSuppressed) {
  base(kSuppressed);
  propose(std::string(kSuppressed) + "int d;\n");
  configure(kValidator);
  add("noisy", [this](const ValidatorContext&) -> Result<ValidatorReport> {
    Finding one = finding(Severity::kError);
    one.path = path_;
    ValidatorReport report;
    report.findings.assign(limits::kMaxFindings + 1, one);
    return report;
  });
  EXPECT_EQ(reason(judge_all()), "gate.validator_failed");
}

TEST_F(JudgedFindings, FindingsInTheBaselineDoNotBlock) {
  propose("a\nb\nbad\n");
  write_baseline(judge_with("").findings.at(0).fingerprint);
  const Verdict verdict = judge_with(kBaseline);
  EXPECT_EQ(reason(verdict), "approved");
  EXPECT_EQ(verdict.findings.at(0).suppression, kBaselineSuppression);
  propose("other\nlines\nare\nhere\n  bad\n");
  line_ = 5;
  EXPECT_EQ(reason(judge_with(kBaseline)), "approved") << "it moved, and has other blanks";
}

TEST_F(JudgedFindings, AnEqualFindingOnAnotherLineIsNotInTheBaseline) {
  propose("a\nb\nbad\n");
  write_baseline(judge_with("").findings.at(0).fingerprint);
  propose("a\nb\nworse\nbad\n");
  EXPECT_EQ(reason(judge_with(kBaseline)), "gate.validator_failed");
}

TEST_F(JudgedFindings, AProposedBaselineIsNotUsedAndNeedsAnApproval) {
  const std::string known = judge_with("").findings.at(0).fingerprint;
  EXPECT_TRUE(overlay_.write(rel("known.json"), baseline_of(known)));
  EXPECT_EQ(reason(judge_with(kBaseline)), "gate.validator_failed");
  configure(kBaseline);
  EXPECT_EQ(reason(judge_all()), "gate.approval_missing");
}

TEST_F(JudgedFindings, ABrokenBaselineIsAnErrorThatNamesTheRemedy) {
  workspace_.write("known.json", "{}");
  configure(kBaseline);
  const auto verdict = try_judge();
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().reason, "baseline.syntax");
  EXPECT_THAT(verdict.error().message, HasSubstr("--report baseline=known.json"));
}

TEST_F(JudgedFindings, NothingCountsInABaselineOfTheEarlierVersion) {
  std::string old = baseline_of(judge_with("").findings.at(0).fingerprint);
  workspace_.write("known.json", old.replace(old.find("/2"), 2, "/1"));
  const Verdict verdict = judge_with(kBaseline);
  EXPECT_EQ(reason(verdict), "gate.validator_failed");
  EXPECT_TRUE(has(verdict, "baseline.old_version"));
}

TEST_F(GateTest, AnOwnerOfAPathMustApprove) {
  workspace_.write(".github/CODEOWNERS", "* @all\n/src/ @core/team @ada\n");
  configure("[owners]\nrequired = true\n");
  const ContentId id = freeze().id();
  const auto by = [&](const std::string& name, std::vector<std::string> more = {}) {
    GateRequest request;
    request.approved = {id};
    more.push_back(name);
    request.approved_by = std::move(more);
    return judge_all(std::move(request));
  };
  EXPECT_EQ(reason(judge_all()), "gate.approval_missing");
  EXPECT_EQ(reason(by("eve")), "gate.approval_missing");
  EXPECT_THAT(message(by("eve")),
              HasSubstr("src/a.c: needs the approval of @core/team or @ada; eve is"));
  EXPECT_EQ(reason(by("Ada")), "approved");
  EXPECT_EQ(reason(by("eve", {"ada"})), "approved");
  EXPECT_THAT(message(by("eve", {"eva"})), HasSubstr("eva and eve are not one of them"));
}

TEST_F(GateTest, OwnersAreReadFromTheUnchangedTree) {
  workspace_.write("CODEOWNERS", "/src/ @ada\n");
  EXPECT_TRUE(overlay_.write(rel("CODEOWNERS"), ""));
  configure("[owners]\nrequired = true\n");
  EXPECT_EQ(reason(judge_all()), "gate.approval_missing");
}
}  // namespace
}  // namespace galley
