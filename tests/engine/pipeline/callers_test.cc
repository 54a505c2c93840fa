#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/workspace_state.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

/// Transactions that one agent began and another uses.
class CallersTest : public ::testing::Test {
 protected:
  CallersTest() {
    tree_.write("galley.toml", R"(
[agents.reader]
capabilities = ["fs:read"]
[agents.bot]
capabilities = ["fs:read", "fs:write:src/"]
)");
    tree_.write("src/a.txt", "a\n");
    auto opened = Workspace::open(tree_.path());
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
  }
  /// The id of a stored transaction of `owner` in which src/new.txt is staged.
  std::string staged_by(const std::string& owner) {
    auto transaction = workspace_->begin_stored({owner, "why"});
    EXPECT_TRUE(transaction);
    EXPECT_TRUE(transaction->write("src/new.txt", "new\n"));
    EXPECT_TRUE(transaction->save());
    return transaction->id();
  }
  Transaction resumed(const std::string& id, const std::string& caller) {
    auto transaction = workspace_->resume(id, caller);
    EXPECT_TRUE(transaction) << transaction.error().message;
    return *std::move(transaction);
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(CallersTest, AResumedTransactionDistinguishesCallerAndOwner) {
  const std::string id = staged_by("bot");
  {
    const Transaction own = resumed(id, "bot");
    EXPECT_FALSE(own.options().owner);
    EXPECT_TRUE(own.options().principals().is_alone());
  }
  const Transaction other = resumed(id, "reader");
  EXPECT_EQ(other.options().agent, "reader");
  EXPECT_EQ(other.options().owner, "bot");
  EXPECT_EQ(other.options().message, "why");
}

TEST_F(CallersTest, ACallIsRefusedIfCallerOrOwnerMayNotMakeIt) {
  const std::string id = staged_by("");
  Transaction reader = resumed(id, "reader");
  EXPECT_FALSE(reader.call("Write", R"({"file_path": "src/x", "content": "x"})").result().ok);
  EXPECT_TRUE(reader.call("Read", R"({"file_path": "src/a.txt"})").result().ok);
  for (const auto& refused : {reader.rollback(), reader.savepoint("s"), reader.rollback_to("s")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "policy.capability");
  }
  EXPECT_FALSE(reader.fork());
  EXPECT_TRUE(reader.read("src/new.txt"));
  ASSERT_TRUE(reader.save());
}

TEST_F(CallersTest, AnAgentThatOnlyReadsIsNotAContributor) {
  const std::string id = staged_by("");
  {
    Transaction reader = resumed(id, "reader");
    EXPECT_TRUE(reader.call("Read", R"({"file_path": "src/a.txt"})").result().ok);
    ASSERT_TRUE(reader.save());
  }
  Transaction owner = resumed(id, "");
  EXPECT_TRUE(owner.options().contributors.empty());
  const auto outcome = owner.commit();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
}

TEST_F(CallersTest, ContributorsAreJudgedAtEveryCommit) {
  const std::string id = staged_by("");
  {
    Transaction owner = resumed(id, "");
    ASSERT_TRUE(owner.write("outside.txt", "x"));
    ASSERT_TRUE(owner.save());
  }
  {
    // An agent cannot stage a forbidden change in a transaction of another agent, however it tries.
    Transaction bot = resumed(id, "bot");
    EXPECT_EQ(bot.write("other.txt", "x").error().reason, "policy.capability");
    EXPECT_EQ(bot.edit("outside.txt", "x", "y").error().reason, "policy.capability");
    ASSERT_TRUE(bot.write("src/more.txt", "x"));
    ASSERT_TRUE(bot.save());
  }
  Transaction owner = resumed(id, "");
  EXPECT_EQ(owner.options().contributors, std::vector<std::string>{"bot"});
  const auto outcome = owner.commit();
  ASSERT_TRUE(outcome);
  ASSERT_TRUE(std::holds_alternative<Refused>(*outcome));
  EXPECT_THAT(std::get<Refused>(*outcome).refusal().message, HasSubstr("[agents.bot]"));
  auto child = owner.fork();
  ASSERT_TRUE(child);
  EXPECT_EQ(child->options().contributors, std::vector<std::string>{"bot"});
}

TEST_F(CallersTest, ACommitRecordsCallerAndOwner) {
  const std::string id = staged_by("bot");
  const auto outcome = resumed(id, "").commit();
  ASSERT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
  const History history(*persistent_of(*workspace_).state());
  const auto listed = history.list({});
  ASSERT_TRUE(listed);
  EXPECT_EQ((*listed)[0].agent, "");
  EXPECT_EQ((*listed)[0].owner, "bot");
  const auto record =
      read_file(persistent_of(*workspace_).state()->root(), rel("audit.jsonl"), 1U << 20U);
  ASSERT_TRUE(record);
  const std::string last = record->substr(record->rfind('\n', record->size() - 2) + 1);
  EXPECT_EQ(nlohmann::json::parse(last)["owner"], "bot");
  EXPECT_EQ(nlohmann::json::parse(last)["kind"], "commit");
}

TEST_F(CallersTest, AnEmptyIdSelectsTheOnlyOwnTransaction) {
  EXPECT_EQ(workspace_->resume({}, "bot").error().reason, "stage.not_found");
  const std::string id = staged_by("bot");
  EXPECT_EQ(resumed({}, "bot").id(), id);
  const auto others = workspace_->resume({}, "");
  ASSERT_FALSE(others);
  EXPECT_EQ(others.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(others.error().message, HasSubstr(id + " by bot: why"));
  staged_by("bot");
  const auto two = workspace_->resume({}, "bot");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().reason, "stage.which");
  EXPECT_THAT(two.error().message, HasSubstr("2 open transactions"));
}

TEST_F(CallersTest, AHeldTransactionIsListedWithItsOwner) {
  auto held = workspace_->begin_stored({"bot", "busy"});
  ASSERT_TRUE(held);
  const auto stages = workspace_->stages();
  ASSERT_TRUE(stages);
  ASSERT_EQ(stages->size(), 1U);
  EXPECT_TRUE((*stages)[0].is_held);
  EXPECT_EQ((*stages)[0].agent, "bot");
  EXPECT_EQ((*stages)[0].message, "busy");
}

}  // namespace
}  // namespace galley
