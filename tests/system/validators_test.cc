// Command validators in real use: real programs in the real sandbox, called through a workspace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/validators/bisect.h"
#include "engine/validators/fix.h"
#include "staging/sandbox/sandbox.h"
#include "support/missing_walls.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A runner that delays each command until `party` commands are inside, and counts them.
class Meeting final : public CommandRunner {
 public:
  Meeting(CommandRunner& sandbox, size_t party) : sandbox_(sandbox), party_(party) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    enter();
    auto result = sandbox_.run(command, overlay);
    const std::lock_guard lock(mutex_);
    --inside_;
    return result;
  }
  [[nodiscard]] size_t most_at_once() const { return most_; }

 private:
  void enter() {
    constexpr std::chrono::seconds kPatience{20};
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    // Once all have met, no command waits any longer.
    changed_.wait_for(lock, kPatience, [this] { return most_ >= party_; });
  }

  CommandRunner& sandbox_;
  const size_t party_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t inside_ = 0;
  size_t most_ = 0;
};

class CommandValidatorsInTheSandbox : public ::testing::Test {
 protected:
  void SetUp() override { skip_without_walls(missing_walls(GALLEY_BINARY_DIR "/galley-sandbox")); }

  CommandValidatorsInTheSandbox() {
    tree_.write("src/a.c", "int a;\n");
    tree_.write("src/b.c", "int b;\n");
    tree_.write("LICENSE", "free\n");
  }

  /// Configures one validator `check` that runs a shell script.
  void check(const std::string& script, const std::string& more = "") {
    tree_.write("galley.toml", "[[validator]]\nname = \"check\"\ncommand = [\"sh\", \"-c\", '''" +
                                   script + "''', \"sh\", \"{files}\"]\npaths = [\"*.c\"]\n" +
                                   more);
  }
  Workspace& open(WorkspaceOptions options = {}) {
    workspace_.reset();
    options.trusts_configuration = true;
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
    return *workspace_;
  }
  /// Returns the gate's verdict on changing src/a.c to `text`.
  Preview judge(const std::string& text) {
    Workspace& workspace = workspace_ ? *workspace_ : open();
    auto transaction = workspace.begin({"tester", "why"});
    EXPECT_TRUE(transaction->write("src/a.c", text));
    auto preview = transaction->preview();
    EXPECT_TRUE(preview) << preview.error().message;
    return *std::move(preview);
  }
  static std::string refusal(const Preview& preview) {
    const auto* refusal = std::get_if<Refusal>(&preview.verdict.decision);
    return refusal == nullptr ? "approved" : refusal->reason + ": " + refusal->message;
  }
  /// Makes the `.galley` in which caches outlive a workspace.
  void keep_state() { ASSERT_TRUE(open().begin_stored()->rollback()); }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(CommandValidatorsInTheSandbox, FindingsOfARealProcessAreParsed) {
  check(R"(for f; do grep -n BAD "$f" | sed "s|^\([0-9]*\):.*|$f:\1:3: error: bad [-Wbad]|"; done
grep -q BAD "$@" && exit 1; exit 0)",
        "parser = \"gcc\"\n");
  const Preview preview = judge("int a;\nint BAD;\n");
  ASSERT_EQ(preview.verdict.findings.size(), 1U);
  const Finding& finding = preview.verdict.findings[0];
  EXPECT_EQ(finding.rule, "check.bad");
  EXPECT_EQ(finding.path, "src/a.c");
  EXPECT_EQ(finding.line, 2U);
  EXPECT_EQ(finding.column, 3U);
  EXPECT_THAT(refusal(preview), HasSubstr("gate.validator_failed"));
  EXPECT_EQ(refusal(judge("int good;\n")), "approved");
}

TEST_F(CommandValidatorsInTheSandbox, ItSeesTheProposedTreeAndItsWritesAreDropped) {
  check(R"(grep -q proposed src/a.c || exit 1; grep -q 'int b' src/b.c || exit 1
rm -r src LICENSE; echo litter > litter; echo "$1" | grep -qx src/a.c)");
  const Preview preview = judge("int proposed;\n");
  EXPECT_EQ(refusal(preview), "approved");
  ASSERT_EQ(preview.proposal.changes().size(), 1U);
  EXPECT_EQ(preview.proposal.changes()[0].path.str(), "src/a.c");
  EXPECT_EQ(tree_.read("src/a.c"), "int a;\n");
  EXPECT_EQ(tree_.read("LICENSE"), "free\n");
  EXPECT_FALSE(tree_.exists("litter"));
}

TEST_F(CommandValidatorsInTheSandbox, WithoutFindingsItsLastWordsAreTheFinding) {
  check("echo on stdout; echo the reason >&2; exit 3");
  const Preview preview = judge("int x;\n");
  ASSERT_EQ(preview.verdict.findings.size(), 1U);
  EXPECT_THAT(preview.verdict.findings[0].message, HasSubstr("status 3"));
  EXPECT_THAT(preview.verdict.findings[0].message, HasSubstr("the reason"));
}

TEST_F(CommandValidatorsInTheSandbox, OnlyNewComparesWithARunOnTheUnchangedTree) {
  tree_.write("src/a.c", "old OLD\n");
  check(R"(grep -no '[A-Z]*' "$1" | sed "s|^\([0-9]*\):\(.*\)|$1:\1: error: \2|"; exit 1)",
        "parser = \"gcc\"\nonly_new = true\n");
  const Preview preview = judge("first\nold OLD\nNEW\n");
  ASSERT_EQ(preview.verdict.findings.size(), 1U);
  EXPECT_EQ(preview.verdict.findings[0].message, "NEW");
  EXPECT_EQ(preview.verdict.findings[0].line, 3U);
}

constexpr const char* kCountRuns = "echo run >> build/log; echo runs: $(wc -l < build/log)";
constexpr const char* kTellRuns = R"(keep = ["build"]
parser = "regex"
parser_regex = '^(?P<message>runs: .*)'
severity = "note"
)";

std::vector<std::string> messages(const Preview& preview) {
  std::vector<std::string> all;
  for (const Finding& finding : preview.verdict.findings) all.push_back(finding.message);
  return all;
}

TEST_F(CommandValidatorsInTheSandbox, KeptDirectoriesPersistFromJudgementToJudgement) {
  check(kCountRuns, kTellRuns + std::string("cache = false\n"));
  EXPECT_THAT(messages(judge("int x;\n")), ElementsAre("runs: 1"));
  const Preview preview = judge("int y;\n");
  EXPECT_THAT(messages(preview), ElementsAre("runs: 2"));
  EXPECT_EQ(preview.proposal.changes().size(), 1U);  // a kept directory is never proposed
  EXPECT_FALSE(tree_.exists("build"));
  EXPECT_FALSE(tree_.exists(".galley"));
}

TEST_F(CommandValidatorsInTheSandbox, KeptDirectoriesOutliveTheProcessIfThereIsAHistory) {
  check(kCountRuns, kTellRuns + std::string("cache = false\n"));
  keep_state();
  EXPECT_THAT(messages(judge("int x;\n")), ElementsAre("runs: 1"));
  open();
  EXPECT_THAT(messages(judge("int x;\n")), ElementsAre("runs: 2"));
}

TEST_F(CommandValidatorsInTheSandbox, ACachedAnswerRunsNothing) {
  check(kCountRuns, kTellRuns);
  keep_state();
  const Preview first = judge("int x;\n");
  EXPECT_FALSE(first.verdict.runs[0].was_cached);
  open();
  const Preview second = judge("int x;\n");
  EXPECT_TRUE(second.verdict.runs[0].was_cached);
  EXPECT_THAT(messages(second), ElementsAre("runs: 1"));
  EXPECT_THAT(messages(judge("int y;\n")), ElementsAre("runs: 2"));
}

TEST_F(CommandValidatorsInTheSandbox, AChangeOfAVisibleFileInvalidatesACachedAnswer) {
  check(kCountRuns, kTellRuns);
  EXPECT_THAT(messages(judge("int x;\n")), ElementsAre("runs: 1"));
  tree_.write("src/b.c", "int changed;\n");
  EXPECT_THAT(messages(judge("int x;\n")), ElementsAre("runs: 2"));
}

TEST_F(CommandValidatorsInTheSandbox, ATimeoutIsARefusalWithTheTimeLimit) {
  check("exec sleep 600", "timeout_ms = 200\n");
  const Preview preview = judge("int x;\n");
  EXPECT_THAT(refusal(preview), HasSubstr("gate.validator_unavailable"));
  EXPECT_THAT(refusal(preview), HasSubstr("200 ms"));
  EXPECT_EQ(preview.verdict.runs[0].outcome, ValidatorRun::Outcome::kUnavailable);
}

TEST_F(CommandValidatorsInTheSandbox, AMissingProgramIsARefusalThatNamesIt) {
  tree_.write("galley.toml", "[[validator]]\nname = \"check\"\ncommand = [\"no-such-linter\"]\n");
  const Preview preview = judge("int x;\n");
  EXPECT_THAT(refusal(preview), HasSubstr("gate.validator_unavailable"));
  EXPECT_THAT(refusal(preview), HasSubstr("no-such-linter"));
}

TEST_F(CommandValidatorsInTheSandbox, AnUndefinedStatusIsARefusalThatNamesIt) {
  check("echo cannot load the rules >&2; exit 2", "findings_exit = [1]\n");
  EXPECT_THAT(refusal(judge("int x;\n")), HasSubstr("status 2"));
  EXPECT_THAT(refusal(judge("int x;\n")), HasSubstr("cannot load the rules"));
  check("kill -SEGV $$");
  open();
  EXPECT_THAT(refusal(judge("int x;\n")), HasSubstr("signal 11"));
}

TEST_F(CommandValidatorsInTheSandbox, AnInvalidReportIsARefusal) {
  check("echo '{ not sarif'", "parser = \"sarif\"\n");
  EXPECT_THAT(refusal(judge("int x;\n")), HasSubstr("gate.validator_unavailable"));
}

TEST_F(CommandValidatorsInTheSandbox, ADeniedProgramIsARefusal) {
  check("exit 0", "[sandbox]\ndeny = [\"sh\"]\n");
  EXPECT_THAT(refusal(judge("int x;\n")), HasSubstr("sandbox.deny"));
}

TEST_F(CommandValidatorsInTheSandbox, AFormatterThatWouldChangeAFileIsAFinding) {
  check("sed -i 's/ *$//' \"$@\"; echo litter > litter", "fix = true\n");
  const Preview preview = judge("int x;  \n");
  ASSERT_EQ(preview.verdict.findings.size(), 1U);
  EXPECT_EQ(preview.verdict.findings[0].rule, "check.would_change");
  EXPECT_EQ(preview.verdict.findings[0].path, "src/a.c");
  EXPECT_EQ(refusal(judge("int x;\n")), "approved");
}

TEST_F(CommandValidatorsInTheSandbox, AsManyRunAtOnceAsTheLimitSays) {
  constexpr size_t kLimit = 3;
  std::string config = "[sandbox]\nmax_parallel = " + std::to_string(kLimit) + "\n";
  for (int i = 0; i < 8; ++i) {
    config += "[[validator]]\nname = \"v" + std::to_string(i) +
              "\"\ncommand = [\"sh\", \"-c\", \"test -e src/a.c && rm src/a.c\"]\n";
  }
  tree_.write("galley.toml", config);
  const SystemClock clock;
  SandboxOptions sandbox_options;
  sandbox_options.workspace = tree_.path();
  const auto sandbox = make_sandbox(std::move(sandbox_options), clock);
  ASSERT_TRUE(sandbox) << sandbox.error().message;
  Meeting meeting(**sandbox, kLimit);
  WorkspaceOptions options;
  options.runner = &meeting;
  open(std::move(options));
  EXPECT_EQ(refusal(judge("int x;\n")), "approved");  // each saw the file that others removed
  EXPECT_EQ(meeting.most_at_once(), kLimit);
}

// --- fixing and splitting -------------------------------------------------------------------

std::vector<std::string> names(const JudgedPart& part) {
  std::vector<std::string> all;
  for (const ProposalPiece& piece : part.pieces) all.push_back(piece.text());
  return all;
}

TEST_F(CommandValidatorsInTheSandbox, FixStagesASeparateChange) {
  check("sed -i 's/ *$//' \"$@\"; echo litter > litter; echo more >> src/b.c", "fix = true\n");
  auto transaction = open().begin_stored({"tester", "why"});
  ASSERT_TRUE(transaction->write("src/a.c", "int x;  \n"));
  const auto report = inner(*transaction).fix();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->runs.size(), 1U);
  EXPECT_THAT(report->runs[0].changed, ElementsAre(rel("src/a.c")));
  ASSERT_EQ(report->runs[0].left_out.size(), 2U);
  EXPECT_EQ(report->runs[0].left_out[0].path, rel("litter"));
  EXPECT_EQ(report->runs[0].left_out[1].path, rel("src/b.c"));
  ASSERT_EQ(report->change.changes().size(), 1U);
  const Change& change = report->change.changes()[0];
  EXPECT_EQ(**report->change.content(change.before), "int x;  \n");
  EXPECT_EQ(**report->change.content(change.after), "int x;\n");
  EXPECT_EQ(refusal(*transaction->preview()), "approved");
  EXPECT_EQ(*transaction->read("src/a.c"), "int x;\n");
  ASSERT_TRUE(transaction->rollback_to(Transaction::kBeforeFix));
  EXPECT_EQ(*transaction->read("src/a.c"), "int x;  \n");
}

TEST_F(CommandValidatorsInTheSandbox, AFixerThatFailsLeavesTheStagedChanges) {
  tree_.write("galley.toml",
              "[[validator]]\nname = \"tidy\"\ncommand = [\"sed\", \"-i\", \"s/x/y/\", "
              "\"{files}\"]\nfix = true\n[[validator]]\nname = \"broken\"\ncommand = [\"sh\", "
              "\"-c\", \"kill -9 $$\"]\nfix = true\n");
  auto transaction = open().begin({"tester", "why"});
  ASSERT_TRUE(transaction->write("src/a.c", "int x;\n"));
  const auto report = inner(*transaction).fix();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("signal 9"));
  EXPECT_EQ(*transaction->read("src/a.c"), "int x;\n");
}

TEST_F(CommandValidatorsInTheSandbox, BisectFindsTheHunksThatAreRefusedTogether) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "line " + std::to_string(i) + "\n";
  tree_.write("src/a.c", text);
  // Refused if the new name is used but not defined, or defined but not used.
  check(R"(defined=$(grep -c 'define NAME' src/a.c); used=$(grep -c 'use NAME' src/a.c)
[ "$defined" = "$used" ] || { echo "src/a.c:1: error: NAME"; exit 1; })",
        "parser = \"gcc\"\n");
  auto transaction = open().begin({"tester", "why"});
  ASSERT_TRUE(transaction->edit("src/a.c", "line 5\n", "line five\n"));
  ASSERT_TRUE(transaction->edit("src/a.c", "line 25\n", "use NAME\n"));
  ASSERT_TRUE(transaction->edit("src/a.c", "line 45\n", "line forty-five\n"));
  ASSERT_TRUE(transaction->write("docs/new.txt", "text\n"));
  const auto report = inner(*transaction).bisect({});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_complete);
  EXPECT_EQ(report->pieces, 4U);
  EXPECT_THAT(names(report->smallest_failing), ElementsAre("src/a.c, hunk 2"));
  EXPECT_THAT(names(report->largest_passing),
              ElementsAre("docs/new.txt", "src/a.c, hunk 1", "src/a.c, hunk 3"));
  EXPECT_FALSE(report->smallest_failing.verdict.is_approved());
  EXPECT_TRUE(report->largest_passing.verdict.is_approved());
  // The staged changes are the same as before.
  EXPECT_EQ(transaction->preview()->proposal.changes().size(), 3U);
}

TEST_F(CommandValidatorsInTheSandbox, BisectOfAPassingChangeReportsIt) {
  check("exit 0");
  auto transaction = open().begin({"tester", "why"});
  ASSERT_TRUE(transaction->write("src/a.c", "int x;\n"));
  const auto report = inner(*transaction).bisect({});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "bisect.nothing_fails");
}

TEST_F(CommandValidatorsInTheSandbox, BisectWithoutTimeSaysThatItIsNotComplete) {
  check("exit 1");
  auto transaction = open().begin({"tester", "why"});
  ASSERT_TRUE(transaction->write("src/a.c", "int x;\n"));
  ASSERT_TRUE(transaction->write("src/b.c", "int x;\n"));
  BisectOptions options;
  options.budget = std::chrono::milliseconds(0);
  const auto report = inner(*transaction).bisect(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->is_complete);
  EXPECT_EQ(report->questions, 0U);
  EXPECT_THAT(names(report->largest_passing), IsEmpty());
}

}  // namespace
}  // namespace galley
