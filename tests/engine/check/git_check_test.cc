#include "engine/check/git_check.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "doubles/fake_command_runner.h"
#include "engine/pipeline/trust.h"
#include "support/public_methods.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr std::string_view kRules = R"(
[[validator]]
builtin = "json"

[[policy.rule]]
paths = ["/locked/**"]
decision = "deny"
)";

class GitCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.init();
    write("galley.toml", kRules);
    write("a.txt", "one\ntwo\n");
    write("sub/b.json", "{}\n");
    commit("first");
  }
  void write(const std::string& name, std::string_view content) { scratch_.write(name, content); }
  void git(const std::string& arguments) { scratch_.git(arguments); }
  void commit(const std::string& message) { scratch_.commit(message); }
  std::unique_ptr<GitCheck> open(const CheckSource& source) {
    CheckOptions options;
    options.repository = GitAccess::open(scratch_.path()).value();
    options.user = std::make_shared<const UserSettings>();
    auto opened = GitCheck::open(source, std::move(options));
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  Error error_of(const CheckSource& source) {
    CheckOptions options;
    options.repository = GitAccess::open(scratch_.path()).value();
    options.user = std::make_shared<const UserSettings>();
    auto opened = GitCheck::open(source, std::move(options));
    return opened ? Error() : opened.error();
  }
  /// The rule of the first finding and its path; `yes` without any.
  static std::string answer(GitCheck& check) {
    const auto preview = check.judge();
    if (!preview) return preview.error().message;
    if (preview->verdict.is_approved()) return "yes";
    if (preview->verdict.findings.empty()) return "no";
    const Finding& first = preview->verdict.findings.front();
    return first.rule + " " + first.path;
  }
  static std::string paths_of(const GitCheck& check) {
    std::string all;
    for (const Change& change : check.proposal().changes()) all += change.path.str() + " ";
    return all;
  }

  ScratchRepository scratch_;
  const CheckSource staged_{};
};

TEST_F(GitCheckTest, JudgesTheIndexAndNotTheWorkTree) {
  write("sub/b.json", "{broken\n");
  git("add -A");
  write("sub/b.json", "{}\n");
  EXPECT_EQ(answer(*open(staged_)), "json.syntax sub/b.json");
  git("add -A");
  write("sub/b.json", "{broken\n");
  EXPECT_EQ(paths_of(*open(staged_)), "");
  EXPECT_EQ(answer(*open({CheckSource::Kind::kWorktree})), "json.syntax sub/b.json");
}

TEST_F(GitCheckTest, DirectoriesAppearAndDisappearWithTheirFiles) {
  git("rm -q sub/b.json");
  write("deep/er/x", "x\n");
  git("add -A");
  EXPECT_EQ(paths_of(*open(staged_)), "deep deep/er deep/er/x sub sub/b.json ");
}

TEST_F(GitCheckTest, AFileBecomesADirectoryAndADirectoryAFile) {
  git("rm -q a.txt sub/b.json");
  write("a.txt/in", "x\n");
  write("sub", "x\n");
  git("add -A");
  const auto check = open(staged_);
  EXPECT_EQ(paths_of(*check), "a.txt a.txt/in sub sub/b.json ");
  EXPECT_TRUE(check->proposal().changes()[0].is_type_change());
  EXPECT_TRUE(check->proposal().changes()[2].is_type_change());
}

TEST_F(GitCheckTest, TheIndexAndItsCommitGiveTheSameProposalId) {
  write("a.txt", "one\nTWO\n");
  git("add -A");
  const auto check = open(staged_);
  git("commit -qm second");
  const auto again = open({CheckSource::Kind::kCommit, "", "HEAD"});
  EXPECT_EQ(check->proposal().id(), again->proposal().id());
  EXPECT_EQ(**again->proposal().content(again->proposal().changes()[0].after), "one\nTWO\n");
}

TEST_F(GitCheckTest, ARangeBeginsAtTheMergeBaseAndTheRulesOfItsTargetApply) {
  git("checkout -qb side");
  write("x.json", "{broken\n");
  write("galley.toml", "");
  commit("side");
  git("checkout -q main");
  write("m.txt", "m\n");
  commit("main");
  const auto check = open({CheckSource::Kind::kRange, "main", "side"});
  EXPECT_EQ(paths_of(*check), "galley.toml x.json ");
  EXPECT_EQ(answer(*check), "policy.path galley.toml");
  EXPECT_FALSE(check->config().validators.empty());
}

TEST_F(GitCheckTest, AFirstPushHasTheEmptyTreeAsItsBase) {
  EXPECT_EQ(paths_of(*open({CheckSource::Kind::kRange, "", "HEAD"})),
            "a.txt galley.toml sub sub/b.json ");
}

TEST_F(GitCheckTest, AnUnfinishedMergeIsRefused) {
  git("checkout -qb side");
  write("a.txt", "side\n");
  commit("side");
  git("checkout -q main");
  write("a.txt", "main\n");
  commit("main");
  git("merge side || true");
  const Error error = error_of(staged_);
  EXPECT_EQ(error.reason, "check.unmerged");
  EXPECT_NE(error.message.find("a.txt"), std::string::npos);
}

TEST_F(GitCheckTest, APathThatAChangeSetCannotContainIsAFinding) {
  const std::string name(RelPath::kMaxComponentBytes + 1, 'n');  // only an index can have it
  write("a.txt", "x\n");
  git("add -A");
  git("update-index --add --cacheinfo 100644,$(git rev-parse :a.txt)," + name);
  EXPECT_EQ(answer(*open(staged_)), "check.path " + name);
}

TEST_F(GitCheckTest, APatchIsAppliedToHead) {
  write("a.txt", "other\n");
  CheckSource patch;
  patch.kind = CheckSource::Kind::kPatch;
  patch.patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
  const auto check = open(patch);
  EXPECT_EQ(paths_of(*check), "a.txt ");
  EXPECT_EQ(answer(*check), "yes");
}

TEST_F(GitCheckTest, AChangedSubmoduleIsADirectoryWithTheLineOfItsCommit) {
  const std::string one(40, '1');
  const std::string two(40, '2');
  git("update-index --add --cacheinfo 160000," + one + ",module");
  git("commit -qm module");
  git("update-index --cacheinfo 160000," + two + ",module");
  const auto check = open(staged_);
  ASSERT_EQ(paths_of(*check), "module ");
  const Change& change = check->proposal().changes()[0];
  EXPECT_EQ(change.before.kind, FileKind::kDirectory);
  EXPECT_EQ(**check->proposal().store()->get(change.after.content),
            "Subproject commit " + two + "\n");
  EXPECT_EQ(*render_diff(check->proposal()), scratch_.output_of("diff --cached"));
}

TEST_F(GitCheckTest, ManyFilesAreJudgedTogether) {
  for (int i = 0; i < 300; ++i) write("many/f" + std::to_string(i), std::to_string(i) + "\n");
  git("add -A");
  const auto check = open(staged_);
  EXPECT_EQ(check->proposal().changes().size(), 301U);
  EXPECT_EQ(answer(*check), "yes");
}

// --- fixing ---------------------------------------------------------------------------------

constexpr std::string_view kFixer = R"(
[agents.bot]

[agents.looker]
tools = ["Read"]

[[validator]]
name = "upper"
command = ["upper"]
paths = ["*.txt"]
fix = true

[[policy.rule]]
paths = ["/locked.txt"]
decision = "deny"
)";

/// A repository whose fixer writes "UPPER" into what is staged.
class StagedFixTest : public GitCheckTest {
 protected:
  void SetUp() override {
    GitCheckTest::SetUp();
    write("galley.toml", kFixer);
    commit("fixer");
    write("a.txt", "lower\n");
    git("add -A");
  }
  Result<StagedFixes> fix(const std::string& agent = "") {
    CheckOptions options;
    options.repository = GitAccess::open(scratch_.path()).value();
    UserSettings user;
    user.trusts_workspaces = true;
    options.user = std::make_shared<const UserSettings>(std::move(user));
    options.runner = &runner_;
    options.clock = &clock_;
    options.who.agent = agent;
    options.who.message = "why";
    auto opened = GitCheck::open(staged_, std::move(options));
    if (!opened) return opened.error();
    return (*opened)->fix();
  }
  [[nodiscard]] std::vector<json> records() const {
    std::vector<json> all;
    std::istringstream lines(scratch_.read(".galley/audit.jsonl"));
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
  [[nodiscard]] std::vector<std::string> kinds() const {
    std::vector<std::string> all;
    for (const json& one : records()) all.push_back(one["kind"]);
    return all;
  }

  /// Runs `on_read` whenever the time is read.
  struct HookedClock final : Clock {
    [[nodiscard]] int64_t wall_ns() const override {
      if (on_read) on_read();
      return SystemClock().wall_ns();
    }
    [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
      return SystemClock().steady();
    }
    std::function<void()> on_read;
  };

  std::string fixed_ = "a.txt";
  HookedClock clock_;
  FakeCommandRunner runner_{[this](const Command&, Overlay& overlay) -> Result<CommandResult> {
    GALLEY_TRY(overlay.write(*RelPath::parse(fixed_), "UPPER\n"));
    CommandResult result;
    result.exit_code = 0;
    result.effects_staged = true;
    return result;
  }};
};
using Kinds = std::vector<std::string>;

TEST_F(StagedFixTest, AFixIsRecordedBeforeAndAfter) {
  const auto fixed = fix("bot");
  ASSERT_TRUE(fixed.has_value()) << fixed.error().message;
  EXPECT_EQ(scratch_.output_of("show :a.txt"), "UPPER\n");
  EXPECT_EQ(kinds(), (Kinds{"begun", "fix", "begun", "index"}));
  const json last = records().back();
  EXPECT_EQ(last["tool"], "check");
  EXPECT_EQ(last["agent"], "bot");
  EXPECT_EQ(last["reason"], "why");
  EXPECT_EQ(last["input"]["paths"], json({"a.txt"}));
  EXPECT_EQ(last["output"], json({{"staged", {"a.txt"}}, {"followed", {"a.txt"}}}));
  EXPECT_EQ(last["capabilities_used"], json({"fs:write"}));
  EXPECT_EQ(records()[2]["execution_id"], last["execution_id"].get<std::string>() + "-begun");
}

TEST_F(StagedFixTest, ValidatorsDoNotRunForAnAgentWithoutAToolThatEdits) {
  const auto refused = fix("looker");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "policy.capability");
  EXPECT_TRUE(runner_.commands().empty());
  EXPECT_EQ(kinds(), Kinds{"fix"});
  EXPECT_EQ(records().back()["error"]["reason"], "policy.capability");
  EXPECT_EQ(scratch_.output_of("show :a.txt"), "lower\n");
}

TEST_F(StagedFixTest, AFileThatARuleDeniesIsNotWrittenIntoTheIndex) {
  write("locked.txt", "lower\n");
  git("add -A");
  fixed_ = "locked.txt";
  const auto refused = fix();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "policy.path") << refused.error().message;
  EXPECT_EQ(kinds(), (Kinds{"begun", "fix", "index"}));
  EXPECT_EQ(scratch_.output_of("show :locked.txt"), "lower\n");
}

TEST_F(StagedFixTest, AnActionThatCannotBeRecordedIsNotPerformed) {
  write(".galley", "no folder\n");
  const auto refused = fix();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "state.not_believed");
  EXPECT_TRUE(runner_.commands().empty());
  EXPECT_EQ(scratch_.output_of("show :a.txt"), "lower\n");
}

TEST_F(StagedFixTest, AFixThatCannotBeRecordedAfterwardsIsReportedWithAWarning) {
  const std::filesystem::path log = scratch_.path() + "/.galley/audit.jsonl";
  clock_.on_read = [&] {
    if (scratch_.read("a.txt") != "UPPER\n" || std::filesystem::is_directory(log)) return;
    std::filesystem::remove(log);
    std::filesystem::create_directory(log);
  };
  const auto fixed = fix();
  ASSERT_TRUE(std::filesystem::is_directory(log));
  ASSERT_TRUE(fixed.has_value()) << fixed.error().message;
  EXPECT_EQ(scratch_.output_of("show :a.txt"), "UPPER\n");
  EXPECT_EQ(fixed->put.staged, std::vector<RelPath>{*RelPath::parse("a.txt")});
  EXPECT_EQ(fixed->put.followed, fixed->put.staged);
  ASSERT_EQ(fixed->put.warnings.size(), 1U);
  EXPECT_NE(fixed->put.warnings[0].find("audit.jsonl"), std::string::npos)
      << fixed->put.warnings[0];
}

TEST_F(StagedFixTest, AFailureIsRecorded) {
  write(".git/index.lock", "");
  const auto refused = fix();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "git.index_locked");
  EXPECT_EQ(kinds(), (Kinds{"begun", "fix", "begun", "index"}));
  EXPECT_EQ(records().back()["error"]["reason"], "git.index_locked");
}

TEST_F(StagedFixTest, NothingStagedLeavesNoRecord) {
  git("reset -q --hard");
  ASSERT_TRUE(fix().has_value());
  EXPECT_TRUE(records().empty());
}

TEST(GitCheckEntries, FixIsTheOnlyPublicMethodThatChangesSomething) {
  // judge() asks only; fix() leaves the records of StagedFixTest.
  EXPECT_EQ(changing_methods("engine/check/git_check.h", "GitCheck"),
            (std::set<std::string>{"judge", "fix"}));
}

}  // namespace
}  // namespace galley
