#include <galley/tool.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include <galley/workspace.h>
#include "doubles/fake_command_runner.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/transaction_state.h"
#include "support/json_equality.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

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

TEST_F(CallOptionsTest, CallOptionsAreRecorded) {
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
  ASSERT_TRUE(inner(*transaction_).run(command, options));
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
  ASSERT_TRUE(inner(*transaction_).run(command, options));
  EXPECT_EQ(runner_.commands().back().effects, EffectsRule::kDrop);
}

TEST_F(CallOptionsTest, AStopRequestReachesTheCommandAndEndsTheCall) {
  std::stop_source source;
  CallOptions options;
  options.stop = source.get_token();
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(inner(*transaction_).run(command, options));
  EXPECT_TRUE(transaction_->call("Bash", R"({"command": "true"})", options).result().ok);
  source.request_stop();
  for (const Command& ran : runner_.commands()) EXPECT_TRUE(ran.stop.stop_requested());
  const auto stopped =
      transaction_->call("Write", R"({"file_path": "b.txt", "content": "b\n"})", options).result();
  EXPECT_EQ(stopped.error->reason, "call.cancelled");
  EXPECT_TRUE(transaction_->proposal().is_empty());
  EXPECT_EQ(last_record()["error"]["reason"], "call.cancelled");
}

TEST_F(CallOptionsTest, ACommandGetsFolderEnvironmentAndProgramsOfTheCall) {
  tree_.write("src/b.txt", "b\n");
  CallOptions options;
  options.session_id = "session-1";
  options.cwd = "src";
  options.environment = {{"LANG", "C"}};
  options.only_programs = {{"true"}};
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(inner(*transaction_).run(command, options));
  const Command& ran = runner_.commands().back();
  EXPECT_EQ(ran.working_directory.str(), "src");
  EXPECT_EQ(ran.environment.at("LANG"), "C");
  EXPECT_EQ(ran.only_programs, options.only_programs);
  const json record = last_record();
  EXPECT_EQ(record["session_id"], "session-1");
  EXPECT_EQ(record["context"]["cwd"], "src");
  command.argv = {"false"};
  const auto other = inner(*transaction_).run(command, options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().reason, "capability.missing");
  options.only_capabilities = {{"fs:read"}};
  command.argv = {"true"};
  EXPECT_EQ(inner(*transaction_).run(command, options).error().reason, "capability.missing");
  EXPECT_EQ(runner_.commands().size(), 1U);
}

TEST_F(CallOptionsTest, AnOwnToolSeesItsCallOptionsAndTheStopRequest) {
  std::stop_source source;
  ToolDefinition tool;
  tool.info.name = "Own";
  tool.info.description = "Looks at its call.";
  tool.info.input_schema = tool.info.output_schema = R"({"type":"object"})";
  tool.info.capabilities = {"fs:read"};
  tool.run = [&source](ToolRun& call) -> Result<std::string> {
    EXPECT_EQ(call.session_id(), "session-1");
    EXPECT_EQ(call.call_id(), "call-1");
    EXPECT_EQ(call.cwd(), "src");
    EXPECT_EQ(*call.read("b.txt"), "b\n") << "relative to the folder of the call";
    call.progress(1, 2);
    EXPECT_FALSE(call.should_stop());
    source.request_stop();
    EXPECT_TRUE(call.should_stop());
    return std::string("{}");
  };
  ASSERT_TRUE(workspace_->add_tool(tool));
  tree_.write("src/b.txt", "b\n");
  CallOptions options;
  options.session_id = "session-1";
  options.call_id = "call-1";
  options.cwd = "src";
  options.stop = source.get_token();
  std::pair<uint64_t, uint64_t> progress;
  options.progress = [&progress](uint64_t done, uint64_t total) { progress = {done, total}; };
  EXPECT_EQ(transaction_->call("Own", "{}", options).error().reason, "call.cancelled");
  EXPECT_EQ(progress, (std::pair<uint64_t, uint64_t>(1, 2)));
}

TEST_F(CallOptionsTest, AStopRequestEndsTheValidatorsOfATransaction) {
  tree_.write("galley.toml",
              "[[validator]]\nname = \"slow\"\ncommand = [\"slow\"]\npaths = [\"*.txt\"]\n");
  std::stop_source source;
  FakeCommandRunner slow([&source](const Command& command, Overlay&) -> Result<CommandResult> {
    source.request_stop();
    EXPECT_TRUE(command.stop.stop_requested()) << "the stop reaches the validator's command";
    CommandResult result;
    result.breach = LimitBreach{LimitKind::kCancelled, 0, 0};
    return result;
  });
  WorkspaceOptions options;
  options.runner = &slow;
  options.trusts_configuration = true;
  const auto workspace = *Workspace::open(tree_.path(), std::move(options));
  auto transaction =
      *workspace->begin({.agent = "ann", .message = "why", .stop = source.get_token()});
  ASSERT_TRUE(transaction.write("b.txt", "b\n"));
  const auto preview = transaction.preview();
  ASSERT_FALSE(preview);
  EXPECT_EQ(preview.error().reason, "gate.cancelled");
  const auto outcome = transaction.commit();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().reason, "gate.cancelled");
  EXPECT_FALSE(tree_.exists("b.txt"));
}

TEST_F(CallOptionsTest, ATimeoutOnlyLowersTheLimitOfACommand) {
  CallOptions options;
  options.timeout = std::chrono::seconds(5);
  Command command;
  command.argv = {"true"};
  ASSERT_TRUE(inner(*transaction_).run(command, options));
  EXPECT_EQ(runner_.commands().back().limits.wall, std::chrono::seconds(5));
  command.limits.wall = std::chrono::seconds(2);
  ASSERT_TRUE(inner(*transaction_).run(command, options));
  EXPECT_EQ(runner_.commands().back().limits.wall, std::chrono::seconds(2));
}

// --- what a session saw -----------------------------------------------------------------------

CallResult read_apart(Workspace& workspace) {
  auto view = *workspace.begin({"bot", ""});
  return view.call("Read", R"({"file": "a.txt"})");
}

TEST_F(CallOptionsTest, AWriteIsRefusedIfTheFileChangedSinceItWasRead) {
  ASSERT_TRUE(read_apart(*workspace_));
  tree_.write("a.txt", "one\nby a person\n");
  const char* all_of_it = R"({"file": "a.txt", "content": "ONE\n"})";
  const CallResult lost = transaction_->call("Write", all_of_it);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, "file.changed_since_read");
  EXPECT_THAT(lost.error().message, HasSubstr("read it again"));
  EXPECT_THAT(lost.error().message, HasSubstr("\n one\n+by a person\n")) << "the diff";
  const ToolError& error = *lost.result().error;
  ASSERT_NE(error.details, nullptr);
  EXPECT_EQ((*error.details)["path"], "a.txt");
  EXPECT_EQ((*error.details)["structuredPatch"][0]["lines"], json::array({" one", "+by a person"}));
  CallOptions blind;
  blind.only_capabilities = {"fs:write", "fs:read:other/"};
  const CallResult hidden = transaction_->call("Write", all_of_it, blind);
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().reason, "file.changed_since_read");
  EXPECT_EQ(hidden.result().error->details, nullptr) << "the caller may not read it";
  ASSERT_TRUE(read_apart(*workspace_));
  EXPECT_TRUE(transaction_->call("Write", all_of_it)) << "it was seen now";
}

TEST_F(CallOptionsTest, AWriteIsRefusedIfTheFileWasAbsentWhenItWasRead) {
  const char* all_of_it = R"({"file": "new.txt", "content": "mine\n"})";
  EXPECT_FALSE(transaction_->call("Read", R"({"file": "new.txt"})"));
  tree_.write("new.txt", "by a person\n");
  const CallResult lost = transaction_->call("Write", all_of_it);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, "file.changed_since_read");
  EXPECT_FALSE(transaction_->call("Read", R"({"file": "other.txt"})"));
  EXPECT_TRUE(transaction_->call("Write", R"({"file": "other.txt", "content": "mine\n"})"));
}

TEST_F(CallOptionsTest, AWriteIsRefusedIfTheFileWasSavedSinceASearchOrAListing) {
  const std::vector<std::pair<const char*, const char*>> looks = {
      {"Grep", R"({"pattern": "one"})"},
      {"Glob", R"({"pattern": "*.md"})"},
      {"Bash", R"({"command": "cat a.txt"})"}};
  for (const auto& [tool, arguments] : looks) {
    tree_.write("a.txt", "one\n");
    auto workspace = *Workspace::open(tree_.path(), WorkspaceOptions{.runner = &runner_});
    Transaction transaction = *workspace->begin({"bot", "why"});
    ASSERT_TRUE(transaction.call(tool, arguments)) << tool;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the tick of times of files
    tree_.write("a.txt", "one\nby a person\n");
    const std::string fresh = std::string(tool) + ".txt";
    tree_.write(fresh, "by a person\n");
    for (const std::string& name : {std::string("a.txt"), fresh}) {
      const std::string all_of_it = json{{"file", name}, {"content", "ONE\n"}}.dump();
      const CallResult lost = transaction.call("Write", all_of_it);
      ASSERT_FALSE(lost) << tool << name;
      EXPECT_EQ(lost.error().reason, "file.changed_since_read");
      ASSERT_TRUE(transaction.call("Read", json{{"file", name}}.dump()));
      EXPECT_TRUE(transaction.call("Write", all_of_it)) << "it was seen now";
    }
  }
}

TEST_F(CallOptionsTest, AFirstWriteNeedsNoLook) {
  ASSERT_TRUE(transaction_->call("Glob", R"({"pattern": "*.md"})"));
  EXPECT_TRUE(transaction_->call("Write", R"({"file": "a.txt", "content": "ONE\n"})"))
      << "it is older than the look";
  EXPECT_TRUE(transaction_->call("Write", R"({"file": "b.txt", "content": "b\n"})"));
  EXPECT_TRUE(transaction_->call("Write", R"({"file": "b.txt", "content": "B\n"})")) << "its own";
  auto other = *Workspace::open(tree_.path());
  Transaction first = *other->begin({"bot", "why"});
  tree_.write("late.txt", "late\n");
  EXPECT_TRUE(first.call("Write", R"({"file": "late.txt", "content": "x\n"})")) << "no look yet";
}

TEST_F(CallOptionsTest, ADeleteIsRefusedIfTheFileChangedSinceItWasRead) {
  tree_.write("dir/b.txt", "b\n");
  ASSERT_TRUE(read_apart(*workspace_));
  {
    auto view = *workspace_->begin({"bot", ""});
    ASSERT_TRUE(view.call("Read", R"({"file": "dir/b.txt"})"));
  }
  tree_.write("a.txt", "one\nby a person\n");
  tree_.write("dir/b.txt", "b\nby a person\n");
  const std::vector<std::pair<const char*, const char*>> calls = {
      {"fs.delete", R"({"path": "a.txt"})"},
      {"fs.delete", R"({"path": "dir", "recursive": true})"},
      {"apply_patch", R"({"input": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"})"}};
  for (const auto& [tool, arguments] : calls) {
    const CallResult lost = transaction_->call(tool, arguments);
    ASSERT_FALSE(lost) << tool;
    EXPECT_EQ(lost.error().reason, "file.changed_since_read") << tool << lost.error().message;
  }
  ASSERT_TRUE(read_apart(*workspace_));
  EXPECT_TRUE(transaction_->call("fs.delete", R"({"path": "a.txt"})")) << "it was seen now";
}

TEST_F(CallOptionsTest, AnEditKeepsChangesThatWereSavedAfterTheRead) {
  ASSERT_TRUE(read_apart(*workspace_));
  tree_.write("a.txt", "one\nby a person\n");
  ASSERT_TRUE(transaction_->call(
      "Edit", R"({"file_path": "a.txt", "old_string": "one", "new_string": "ONE"})"));
  EXPECT_EQ(*transaction_->read("a.txt"), "ONE\nby a person\n");
}

TEST_F(CallOptionsTest, AnEditOfASavedFileIsNoLookAtTheSave) {
  ASSERT_TRUE(read_apart(*workspace_));
  tree_.write("a.txt", "one\nby a person\n");
  ASSERT_TRUE(transaction_->call(
      "Edit", R"({"file_path": "a.txt", "old_string": "one", "new_string": "ONE"})"));
  const CallResult lost =
      transaction_->call("Write", R"({"file": "a.txt", "content": "all of it\n"})");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().reason, "file.changed_since_read");
  EXPECT_EQ(*transaction_->read("a.txt"), "ONE\nby a person\n");
}

TEST_F(CallOptionsTest, ALineNumberIsRefusedIfTheLinesAboveItChangedSinceTheyWereRead) {
  tree_.write("a.txt", "one\ntwo\nthree\n");
  const auto insert = [&](int line) {
    return transaction_->call("str_replace_based_edit_tool", json{{"command", "insert"},
                                                                  {"path", "a.txt"},
                                                                  {"insert_line", line},
                                                                  {"insert_text", "new\n"}}
                                                                 .dump());
  };
  ASSERT_TRUE(read_apart(*workspace_));
  tree_.write("a.txt", "one\nby a person\ntwo\nthree\n");
  const CallResult moved = insert(2);
  ASSERT_FALSE(moved);
  EXPECT_EQ(moved.error().reason, "file.changed_since_read");
  EXPECT_THAT(moved.error().message, HasSubstr("\n one\n+by a person\n two\n"));
  const char* edit = R"({"file_path": "a.txt", "old_string": "two", "new_string": "TWO"})";
  EXPECT_TRUE(transaction_->call("Edit", edit)) << "its text shows the place";
  EXPECT_EQ(*transaction_->read("a.txt"), "one\nby a person\nTWO\nthree\n");
  EXPECT_TRUE(insert(1)) << "the line above is as it was";
  EXPECT_EQ(*transaction_->read("a.txt"), "one\nnew\nby a person\nTWO\nthree\n");
  EXPECT_FALSE(insert(2)) << "edits do not show the save";
  ASSERT_TRUE(transaction_->call("Read", R"({"file": "a.txt"})"));
  EXPECT_TRUE(insert(2));
}

TEST_F(CallOptionsTest, ALineNumberOfAChangedFileDoesNotChooseBetweenEqualLines) {
  const std::string block = "begin\n  same\nend\n";
  tree_.write("a.txt", block + block + block);
  ASSERT_TRUE(read_apart(*workspace_));
  tree_.write("a.txt", block + "by a person\n" + block + "x\ny\n" + block);
  const char* patch =
      R"({"input": "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n begin\n-  same\n+  other\n end\n"})";
  const CallResult open = transaction_->call("apply_patch", patch);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().reason, "patch.ambiguous");
  ASSERT_TRUE(read_apart(*workspace_));
  EXPECT_TRUE(transaction_->call("apply_patch", patch)) << "its numbers are of what was seen";
}

TEST_F(CallOptionsTest, ASessionKnowsItsOwnChanges) {
  const auto write = [&](const std::string& text) {
    return transaction_->call("Write", json{{"file", "a.txt"}, {"content", text}}.dump())
        .
        operator bool();
  };
  ASSERT_TRUE(write("two\n"));
  ASSERT_TRUE(transaction_->rollback());
  transaction_.emplace(*workspace_->begin_stored({"bot", "why"}));
  EXPECT_TRUE(write("three\n")) << "the file is again what its first write replaced";
  const CommitOutcome outcome = *transaction_->commit();
  ASSERT_TRUE(std::holds_alternative<Receipt>(outcome));
  ASSERT_TRUE(workspace_->undo("1"));
  transaction_.emplace(*workspace_->begin_stored({"bot", "why"}));
  EXPECT_TRUE(write("four\n"));
}

TEST_F(CallOptionsTest, ASessionThatNeverReadAFileMayReplaceIt) {
  tree_.write("a.txt", "by a person\n");
  EXPECT_TRUE(transaction_->call("Write", R"({"file": "a.txt", "content": "ONE\n"})"));
}

}  // namespace
}  // namespace galley
