#include <galley/tool.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include <galley/workspace.h>
#include "engine/pipeline/transaction_state.h"
#include "staging/sandbox/fake_command_runner.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

class CallOptionsTest : public ::testing::Test {
 protected:
  CallOptionsTest() {
    tree_.write("a.txt", "one\n");
    WorkspaceOptions options;
    options.runner = &runner_;
    workspace_ = *Workspace::open(tree_.path(), std::move(options));
    transaction_.emplace(*workspace_->begin_stored({"bot", "why"}));
  }
  json last_record() {
    const std::string text = tree_.read(".galley/audit.jsonl");
    return json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
  }
  static Result<CommandResult> answer(const Command& command) {
    CommandResult result;
    result.exit_code = 0;
    const auto secret = command.environment.find("TOKEN");
    if (secret != command.environment.end()) result.standard_output.head = secret->second;
    return result;
  }

  TempDirectory tree_;
  FakeCommandRunner runner_{[](const Command& command, Overlay&) { return answer(command); }};
  std::unique_ptr<Workspace> workspace_;
  std::optional<Transaction> transaction_;
  const std::string leak_ = R"({"command": "echo $ENV.TOKEN"})";
};

TEST_F(CallOptionsTest, WhatTheCallerSaysIsOnRecord) {
  CallOptions options;
  options.call_id = "call-7";
  options.task_id = "task-1";
  options.goal_id = "goal-1";
  options.reason = "because of this";
  ASSERT_TRUE(transaction_->call("Read", R"({"file_path": "a.txt"})", options).result().ok);
  json record = last_record();
  EXPECT_EQ(record["call_id"], "call-7");
  EXPECT_EQ(record["task_id"], "task-1");
  EXPECT_EQ(record["goal_id"], "goal-1");
  EXPECT_EQ(record["reason"], "because of this");
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(transaction_->run(command, options));
  record = last_record();
  EXPECT_EQ(record["kind"], "exec");
  EXPECT_EQ(record["call_id"], "call-7");
  EXPECT_EQ(record["reason"], "because of this");
}

TEST_F(CallOptionsTest, ASecretReachesTheCommandAndIsRedactedFromItsAnswer) {
  EXPECT_EQ(transaction_->call("Bash", leak_).error().reason, "secret.unavailable");
  CallOptions options;
  options.secrets = [](const std::string& name) -> std::optional<std::string> {
    if (name == "TOKEN") return "hunter2-and-more";
    return {};
  };
  const ToolResult told = transaction_->call("Bash", leak_, options).result();
  ASSERT_TRUE(told.ok) << told.error->message;
  EXPECT_EQ((*told.data)["stdout"], "[REDACTED:env.TOKEN]");
  EXPECT_EQ(runner_.commands().back().environment.at("TOKEN"), "hunter2-and-more");
  EXPECT_EQ(tree_.read(".galley/audit.jsonl").find("hunter2"), std::string::npos);
  const ToolResult unknown =
      transaction_->call("Bash", R"({"command": "echo $ENV.OTHER"})", options).result();
  EXPECT_EQ(unknown.error->reason, "secret.unknown");
}

TEST_F(CallOptionsTest, ADryRunKeepsNothing) {
  CallOptions options;
  options.dry_run = true;
  const auto told =
      transaction_->call("Write", R"({"file_path": "b.txt", "content": "b\n"})", options).result();
  ASSERT_TRUE(told.ok);
  EXPECT_TRUE(told.meta.dry_run);
  EXPECT_TRUE(transaction_->proposal().is_empty());
  EXPECT_EQ(last_record()["kind"], "call.dry_run");
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(transaction_->run(command, options));
  EXPECT_EQ(runner_.commands().back().effects, EffectsRule::kDrop);
}

TEST_F(CallOptionsTest, AStopReachesTheCommandAndEndsACall) {
  std::stop_source source;
  CallOptions options;
  options.stop = source.get_token();
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(transaction_->run(command, options));
  EXPECT_TRUE(transaction_->call("Bash", R"({"command": "true"})", options).result().ok);
  source.request_stop();
  for (const Command& ran : runner_.commands()) EXPECT_TRUE(ran.stop.stop_requested());
  const auto stopped =
      transaction_->call("Write", R"({"file_path": "b.txt", "content": "b\n"})", options).result();
  EXPECT_EQ(stopped.error->reason, "call.cancelled");
  EXPECT_TRUE(transaction_->proposal().is_empty());
  EXPECT_EQ(last_record()["error"]["reason"], "call.cancelled");
}

TEST_F(CallOptionsTest, ATimeOnlyTightensWhatACommandHas) {
  CallOptions options;
  options.timeout = std::chrono::seconds(5);
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(transaction_->run(command, options));
  EXPECT_EQ(runner_.commands().back().limits.wall, std::chrono::seconds(5));
  command.limits.wall = std::chrono::seconds(2);
  ASSERT_TRUE(transaction_->run(command, options));
  EXPECT_EQ(runner_.commands().back().limits.wall, std::chrono::seconds(2));
}

}  // namespace
}  // namespace galley
