// Calls that a thread of its own makes, through the installed headers only.
#include <galley/galley.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "support/temp_directory.h"

namespace galley {
namespace {

/// A workspace with a tool `Wait`, whose call begins, then waits for go() or for its end.
class CallQueue : public ::testing::Test {
 protected:
  CallQueue() {
    tree_.write("galley.toml", "[agents.ann]\n");
    tree_.write("a.txt", "one\n");
    WorkspaceOptions options;
    ToolDefinition wait;
    wait.info.name = "Wait";
    wait.info.title = "Wait";
    wait.info.description = "Waits.";
    wait.info.input_schema = R"({"type": "object"})";
    wait.info.output_schema = R"({"type": "object"})";
    wait.info.timeout = std::chrono::minutes(1);
    wait.info.security_tier = ToolInfo::Tier::kSafe;
    wait.info.annotations = {.read_only = true, .idempotent = true};
    wait.run = [this](ToolRun& call) -> Result<std::string> {
      began_.count_down();
      while (!call.should_stop() && !goes_.try_wait()) std::this_thread::yield();
      return std::string("{}");
    };
    ToolDefinition throws = wait;
    throws.info.name = "Throws";
    throws.run = [](ToolRun&) -> Result<std::string> { return R"({"text": "x"})"; };
    throws.sanitize = [](std::string_view) -> std::string { throw std::runtime_error("no"); };
    options.tools.push_back(std::move(throws));
    options.tools.push_back(std::move(wait));
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
  }

  Transaction begin() {
    auto transaction = workspace_->begin({.agent = "ann", .message = "why"});
    EXPECT_TRUE(transaction) << transaction.error().message;
    return *std::move(transaction);
  }

  static std::string append(const std::string& old_text, const std::string& more) {
    return R"({"file_path": "a.txt", "old_string": ")" + old_text + R"(", "new_string": ")" +
           old_text + more + R"("})";
  }

  TempDirectory tree_;
  std::latch began_{1};
  std::latch goes_{1};
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(CallQueue, CallsAreMadeInOrderWhileTheCallerGoesOn) {
  Transaction::CallQueue queue(begin());
  std::future<CallResult> waits = queue.submit("Wait", "{}");
  std::vector<std::future<CallResult>> edits;
  std::string text = "one";
  for (int i = 0; i < 20; ++i) {  // each needs the text of the one before
    edits.push_back(queue.submit("Edit", append(text, std::to_string(i))));
    text += std::to_string(i);
  }
  began_.wait();
  EXPECT_EQ(waits.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  goes_.count_down();
  EXPECT_TRUE(waits.get());
  for (auto& edit : edits) {
    const CallResult result = edit.get();
    EXPECT_TRUE(result) << result.error().message;
  }
  Transaction transaction = queue.finish();
  EXPECT_EQ(*transaction.read("a.txt"), text + "\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
}

TEST_F(CallQueue, AFailedCallIsAResultAndTheNextOneRuns) {
  Transaction::CallQueue queue(begin());
  auto missing = queue.submit("NoSuchTool", "{}");
  auto malformed = queue.submit("Read", "{");
  auto read = queue.submit("Read", R"({"file_path": "a.txt"})");
  EXPECT_FALSE(missing.get());
  EXPECT_FALSE(malformed.get());
  EXPECT_TRUE(read.get());
}

TEST_F(CallQueue, AFunctionThatThrowsAndACallAfterTheEndAreResults) {
  Transaction::CallQueue queue(begin());
  auto throws = queue.submit("Throws", "{}");
  const CallResult thrown = throws.get();
  ASSERT_FALSE(thrown);
  EXPECT_EQ(thrown.error().reason, "tool.threw");
  Transaction transaction = queue.finish();
  const CallResult late = queue.submit("Read", R"({"file_path": "a.txt"})").get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "transaction.over");
}

TEST_F(CallQueue, ATokenEndsItsOwnCallOnly) {
  Transaction::CallQueue queue(begin());
  std::stop_source stop;
  auto waits = queue.submit("Wait", "{}", {.stop = stop.get_token()});
  auto read = queue.submit("Read", R"({"file_path": "a.txt"})");
  began_.wait();
  stop.request_stop();
  const CallResult ended = waits.get();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().reason, "call.cancelled");
  EXPECT_TRUE(read.get());
}

TEST_F(CallQueue, DestructionAnswersTheRunningCallAndThoseThatWait) {
  std::optional<Transaction::CallQueue> queue(std::in_place, begin());
  auto waits = queue->submit("Wait", "{}");
  auto write = queue->submit("Write", R"({"file_path": "new.txt", "content": "x"})");
  static_cast<void>(queue->submit("Read", R"({"file_path": "a.txt"})"));  // its future is dropped
  began_.wait();
  queue.reset();
  for (auto* one : {&waits, &write}) {
    const CallResult result = one->get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, "call.cancelled");
  }
  EXPECT_FALSE(workspace_->begin()->read("new.txt"));
}

TEST_F(CallQueue, ThreadsSubmitAtOnceAndTwoQueuesOfAWorkspaceRunSideBySide) {
  Transaction::CallQueue first(begin());
  Transaction::CallQueue second(begin());
  auto waits = first.submit("Wait", "{}");
  began_.wait();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&second, i] {
      const std::string path = "f" + std::to_string(i);
      const CallResult result =
          second.submit("Write", R"({"file_path": ")" + path + R"(", "content": "x"})").get();
      EXPECT_TRUE(result) << result.error().message;
    });
  }
  threads.clear();
  goes_.count_down();
  EXPECT_TRUE(waits.get());
  EXPECT_EQ(second.finish().preview()->proposal.changes().size(), 4U);
}

}  // namespace
}  // namespace galley
