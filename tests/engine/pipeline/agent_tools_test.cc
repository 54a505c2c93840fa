// The tools that a workspace adds to the standard ones, through the door of a program.
#include <galley/galley.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "support/git_oracle.h"
#include "support/own_file.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class AgentTools : public ::testing::Test {
 protected:
  void configure(const std::string& text) { tree_.write("galley.toml", text); }

  Workspace& open() {
    WorkspaceOptions options;
    options.uses_personal_settings = false;
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
    return *workspace_;
  }
  void commit(const std::string& path, const std::string& content, const std::string& agent) {
    auto transaction = workspace_->begin({.agent = agent, .message = "write " + path});
    ASSERT_TRUE(transaction->write(path, content));
    const auto outcome = transaction->commit();
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_NE(std::get_if<Receipt>(&*outcome), nullptr);
  }
  /// `results` of a query that must work.
  json ask(const json& args, const std::string& agent = {}) {
    auto transaction = workspace_->begin({.agent = agent});
    const auto answer = transaction->call("GraphQuery", args.dump());
    EXPECT_TRUE(answer) << answer.document();
    return json::parse(answer.json()).value("results", json());
  }
  /// The reason of one that must not.
  std::string refused(const json& args) {
    auto transaction = workspace_->begin();
    const auto answer = transaction->call("GraphQuery", args.dump());
    return answer ? answer.json() : answer.error().reason;
  }
  void git(const std::string& command) {
    const auto ran = testing::run_in(tree_.path(), command);
    EXPECT_EQ(ran.status, 0) << ran.output;
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(AgentTools, AQueryReadsHistoryWithParametersByName) {
  open();
  commit("a.txt", "one\n", "ann");
  commit("b.txt", "two\n", "bob");
  EXPECT_EQ(
      ask({{"query", "SELECT message FROM log WHERE agent = :who"}, {"params", {{"who", "bob"}}}}),
      json::parse(R"([{"message":"write b.txt"}])"));
  EXPECT_EQ(ask({{"query", "SELECT path, added FROM changes WHERE tx >= $first ORDER BY path"},
                 {"params", {{"first", 1}}}}),
            json::parse(R"([{"path":"a.txt","added":1},{"path":"b.txt","added":1}])"));
  EXPECT_EQ(ask({{"query", "SELECT :n AS n, :t AS t, :r AS r"},
                 {"params", {{"n", nullptr}, {"t", true}, {"r", 1.5}}}}),
            json::parse(R"([{"n":null,"t":1,"r":1.5}])"));
}

TEST_F(AgentTools, AQueryReadsTheRecordOfCalls) {
  open();
  commit("a.txt", "one\n", "ann");
  const auto rows = ask({{"query", "SELECT kind, agent, tool FROM audit WHERE kind = 'commit'"}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["agent"], "ann");
  const auto columns = ask({{"query", "SELECT * FROM audit LIMIT 1"}});
  EXPECT_FALSE(columns[0].contains("input")) << "contents of files stand there";
  EXPECT_FALSE(columns[0].contains("output"));
}

TEST_F(AgentTools, AQueryReadsTheProposedTreeAndEarlierTrees) {
  open();
  commit("a.txt", "one\n", "ann");
  commit("b.txt", "four bytes", "ann");
  auto transaction = workspace_->begin();
  ASSERT_TRUE(transaction->write("c.txt", "staged"));
  const json now = {{"query", "SELECT path, size FROM tree WHERE kind = 'file' ORDER BY path"}};
  const auto staged = transaction->call("GraphQuery", now.dump());
  EXPECT_EQ(json::parse(staged.json())["results"],
            json::parse(R"([{"path":"a.txt","size":4},{"path":"b.txt","size":10},
                            {"path":"c.txt","size":6}])"));
  json then = now;
  then["commit"] = "1";
  EXPECT_EQ(ask(then), json::parse(R"([{"path":"a.txt","size":4}])"));
  then["commit"] = "99";
  EXPECT_EQ(refused(then), "history.not_found");
}

TEST_F(AgentTools, AQueryReadsGitCommitsAndTrees) {
  tree_.write("src/a.txt", "one\n");
  git("git init -q -b main . && git config user.name Ann && git config user.email ann@example.org "
      "&& git add -A && git commit -q -m first && git tag v1 && echo more >> src/a.txt && git "
      "commit -q -a -m second");
  open();
  EXPECT_EQ(
      ask({{"query", "SELECT subject, author FROM git_commits"}}),
      json::parse(R"([{"subject":"second","author":"Ann"},{"subject":"first","author":"Ann"}])"));
  EXPECT_EQ(ask({{"query", "SELECT path, kind, mode, size FROM tree"}, {"commit", "v1"}}),
            json::parse(R"([{"path":"src/a.txt","kind":"file","mode":"0644","size":4}])"));
  EXPECT_EQ(ask({{"query", "SELECT count(*) AS n FROM git_commits"}, {"commit", "v1"}}),
            json::parse(R"([{"n":1}])"));
  for (const char* revision : {"nothing", "--output=x", "v1:src/a.txt", ""}) {
    const json args = {{"query", "SELECT * FROM tree"}, {"commit", revision}};
    if (*revision != '\0') {
      EXPECT_EQ(refused(args), "git.bad_revision") << revision;
    }
  }
}

TEST_F(AgentTools, AQueryHidesPathsThatTheAgentMayNotRead) {
  configure("[agents.reader]\ncapabilities = [\"fs:read\", \"!fs:read:secret/\"]\n");
  tree_.write("secret/key", "k");
  tree_.write("open.txt", "o");
  git("git init -q -b main . && git config user.name A && git config user.email a@example.org && "
      "git add -A && git commit -q -m first");
  open();
  const json args = {
      {"query", "SELECT path FROM tree WHERE kind = 'file' AND path <> 'galley.toml'"}};
  EXPECT_EQ(ask(args, "reader"), json::parse(R"([{"path":"open.txt"}])"));
  json then = args;
  then["commit"] = "HEAD";
  EXPECT_EQ(ask(then, "reader"), json::parse(R"([{"path":"open.txt"}])"));
}

TEST_F(AgentTools, WritingAndInvalidQueriesAreRefused) {
  open();
  for (const char* sql : {"DELETE FROM transactions", "CREATE TABLE x(y)", "ATTACH 'x' AS y",
                          "INSERT INTO tree VALUES (1,2,3,4,5)", "PRAGMA user_version = 3"}) {
    EXPECT_EQ(refused({{"query", sql}}), "query.not_read_only") << sql;
  }
  EXPECT_EQ(refused({{"query", "SELECT 1; SELECT 2"}}), "query.sql");
  EXPECT_EQ(refused({{"query", "SELECT nothing FROM log"}}), "query.sql");
  EXPECT_EQ(refused({{"query", "SELECT * FROM log"}, {"commit", "1"}}), "query.commit");
  EXPECT_EQ(refused({{"query", "SELECT :a"}}), "query.parameter");
  EXPECT_EQ(refused({{"query", "SELECT ?"}}), "query.parameter");
  EXPECT_EQ(refused({{"query", "SELECT 1"}, {"params", {{"a", 1}}}}), "query.parameter");
}

TEST_F(AgentTools, AListIsAParameterAsJson) {
  open();
  EXPECT_EQ(ask({{"query", "SELECT value FROM json_each(:names) WHERE value > 'a'"},
                 {"params", {{"names", {"a", "b", "c"}}}}}),
            json::parse(R"([{"value":"b"},{"value":"c"}])"));
  EXPECT_EQ(
      ask({{"query", "SELECT json_extract(:of, '$.n') AS n"}, {"params", {{"of", {{"n", 7}}}}}}),
      json::parse(R"([{"n":7}])"));
}

TEST_F(AgentTools, BeforeTheFirstCommitTheTablesAreEmpty) {
  open();
  EXPECT_EQ(ask({{"query", "SELECT * FROM log"}}), json::array());
  EXPECT_EQ(ask({{"query", "SELECT * FROM audit"}}), json::array());
  EXPECT_FALSE(tree_.exists(".galley")) << "a question makes no state";
}

TEST_F(AgentTools, ColumnsWithTheSameNameGetDifferentNames) {
  open();
  EXPECT_EQ(ask({{"query", "SELECT 1 AS a, 2 AS a"}}), json::parse(R"([{"a":1,"a_2":2}])"));
}

TEST_F(AgentTools, AGitCommitNeedsItsCapability) {
  configure("[agents.ann]\ncapabilities = [\"fs:read\", \"fs:write\"]\n");
  git("git init -q -b main .");
  open();
  auto transaction = workspace_->begin({.agent = "ann"});
  EXPECT_FALSE(transaction->call("git_commit", R"({"message":"why"})"));
  ASSERT_TRUE(transaction->write("a.txt", "a"));
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::get<Receipt>(*outcome).git_commit, "");
  EXPECT_NE(testing::run_in(tree_.path(), "git rev-parse HEAD").status, 0) << "nothing is there";
}

TEST_F(AgentTools, AGitCommitFollowsTheCommitOfTheTransactionAndIsRecorded) {
  tree_.write("a.txt", "one\n");
  git("git init -q -b main . && git config user.name Ann && git config user.email a@example.org "
      "&& git add -A && git commit -q -m first");
  open();
  std::string id;
  {
    auto begun = workspace_->begin_stored({.agent = "ann"});
    ASSERT_TRUE(begun);
    id = begun->id();
    ASSERT_TRUE(begun->write("a.txt", "two\n"));
    ASSERT_TRUE(begun->save());
  }
  // The files of the tool for a transaction that outlives its process.
  tree_.write(own_file(*workspace_, "stage/" + id + "/git-commit"), "say two");
  auto transaction = workspace_->resume(id, "ann");
  ASSERT_TRUE(transaction) << transaction.error().message;
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto& receipt = std::get<Receipt>(*outcome);
  EXPECT_THAT(receipt.warnings, ::testing::IsEmpty());
  EXPECT_EQ(testing::run_in(tree_.path(), "git rev-parse HEAD").output, receipt.git_commit + "\n");
  EXPECT_EQ(testing::run_in(tree_.path(), "git log -1 --format=%s").output, "say two\n");
  EXPECT_EQ(ask({{"query", "SELECT kind, agent, tx FROM audit WHERE tool = 'git_commit'"}}),
            json::parse(R"([{"kind":"begun","agent":"ann","tx":"1"},
                            {"kind":"link","agent":"ann","tx":"1"}])"));
}

TEST_F(AgentTools, ATransactionStaysCommittedIfGitRefusesItsCommit) {
  tree_.write("a.txt", "one\n");
  tree_.write(".gitattributes", "a.txt filter=lfs\n");
  git("git init -q -b main . && git config user.name Ann && git config user.email a@example.org");
  open();
  auto begun = workspace_->begin_stored({.agent = "ann"});
  ASSERT_TRUE(begun);
  ASSERT_TRUE(begun->write("a.txt", "two\n"));
  ASSERT_TRUE(begun->save());
  const std::string id = begun->id();
  *begun = *workspace_->begin({});
  tree_.write(own_file(*workspace_, "stage/" + id + "/git-commit"), "why");
  const auto outcome = workspace_->resume(id, "ann")->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto& receipt = std::get<Receipt>(*outcome);
  EXPECT_EQ(receipt.git_commit, "");
  ASSERT_EQ(receipt.warnings.size(), 1U);
  EXPECT_THAT(receipt.warnings.front(), HasSubstr("filter"));
  EXPECT_EQ(tree_.read("a.txt"), "two\n");
}

// --- profiles -------------------------------------------------------------------------------

TEST_F(AgentTools, AnAgentCallsToolsByTheNamesOfItsProfile) {
  configure("[agents.fixer]\nprofile = \"aios\"\n");
  tree_.write("etc/hosts", "x\n");
  open();
  auto transaction = workspace_->begin({.agent = "fixer"});
  EXPECT_TRUE(transaction->call("fs.read", R"({"path":"etc/hosts"})"));
  const auto other = transaction->call("Read", R"({"file":"etc/hosts"})");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().reason, "tool.not_in_profile");
  EXPECT_FALSE(transaction->call("Bash", R"({"command":"true"})"));
}

TEST_F(AgentTools, AProfileThatDoesNotExistIsAnErrorOfTheConfiguration) {
  configure("[agents.fixer]\nprofile = \"aois\"\n");
  WorkspaceOptions options;
  options.uses_personal_settings = false;
  const auto opened = Workspace::open(tree_.path(), std::move(options));
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("did you mean 'aios'?"));
}

TEST_F(AgentTools, ToolsOfAllProfilesAreListed) {
  open();
  const auto tools = workspace_->tools();
  ASSERT_TRUE(tools);
  for (const char* name : {"fs.read", "filesystem", "find_references", "git_status", "GraphQuery",
                           "glob", "run_tests"}) {
    EXPECT_TRUE(std::any_of(tools->begin(), tools->end(), [&](const ToolInfo& info) {
      return info.name == name;
    })) << name;
  }
}

}  // namespace
}  // namespace galley
