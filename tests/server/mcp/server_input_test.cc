#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "server/mcp/server_facts.h"

namespace galley {
namespace {

/// The bytes that a client has sent so far.
class SentLines {
 public:
  void send(const json& message) {
    const std::lock_guard lock(mutex_);
    lines_.push_back({message.dump(), false, false, {}});
    more_.notify_all();
  }
  void send_too_long() {
    const std::lock_guard lock(mutex_);
    lines_.push_back({{}, true, false, {}});
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    more_.notify_all();
  }
  McpServer::Input input() {
    return [this]() -> Result<std::optional<McpServer::Line>> {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return !lines_.empty() || is_over_; });
      if (lines_.empty()) return std::optional<McpServer::Line>();
      McpServer::Line line = lines_.front();
      lines_.pop_front();
      line.has_next = !lines_.empty();
      return line;
    };
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<McpServer::Line> lines_;
  bool is_over_ = false;
};

TEST_F(McpServerFacts, RequestsReadBeforeTheEndAreAnswered) {
  SentLines sent;
  sent.send(call(1));  // no client has said hello
  sent.send_too_long();
  sent.send(request("hello", "initialize",
                    {{"protocolVersion", "2025-11-25"}, {"capabilities", json::object()}}));
  for (int id = 2; id < 40; ++id) sent.send(call(id));
  sent.end();
  ASSERT_TRUE(server.serve(sent.input()));
  EXPECT_EQ(said[0]["error"]["code"], rpc::kInvalidParams);
  EXPECT_EQ(said[1]["error"]["code"], rpc::kInvalidRequest);
  for (int id = 2; id < 40; ++id) EXPECT_EQ(answers_to(id), 1U) << id;
  EXPECT_EQ(said.size(), 41U);
}

TEST_F(McpServerFacts, ASlowRequestDoesNotBlockReading) {
  SentLines sent;
  Door door;
  std::atomic<int> works = 0;
  features.work = [&](McpRequest& asked) -> McpAnswer {
    if (++works == 1) {
      door.pass();
      EXPECT_TRUE(asked.stop().stop_requested());
    }
    return ordered_json::object();
  };
  std::thread client([&] {
    sent.send(stateless(call(1)));
    sent.send(stateless(call(2)));
    (void)answer_to(2);
    sent.send({{"jsonrpc", "2.0"},
               {"method", "notifications/cancelled"},
               {"params", {{"requestId", 1}}}});
    sent.send(stateless(call(3)));
    (void)answer_to(3);
    door.open();
    sent.send(stateless(call(4)));
    (void)answer_to(4);
    sent.end();
  });
  EXPECT_TRUE(server.serve(sent.input()));
  client.join();
  EXPECT_EQ(answers_to(1), 0U);
  EXPECT_EQ(works, 4);
}

TEST_F(McpServerFacts, AnAnswerToAQuestionIsReadWhileTheRequestWaits) {
  SentLines sent;
  features.work = [&](McpRequest& asked) -> McpAnswer {
    const auto answer = asked.ask("q", "elicitation/create", ordered_json::object());
    return ordered_json{{"said", answer ? ordered_json(*answer) : ordered_json()}};
  };
  std::thread client([&] {
    sent.send(request(
        "hello", "initialize",
        {{"protocolVersion", "2025-11-25"}, {"capabilities", {{"elicitation", json::object()}}}}));
    sent.send(call(1));
    const json question = wait_for([](const json& each) { return each.contains("method"); });
    sent.send({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "accept"}}}});
    (void)answer_to(1);
    sent.end();
  });
  EXPECT_TRUE(server.serve(sent.input()));
  client.join();
  EXPECT_EQ(answer_to(1)["result"]["said"]["action"], "accept");
}

TEST_F(McpServerFacts, RequestsOfOneLaneAreHandledInOrder) {
  SentLines sent;
  Door door;
  std::atomic<int> works = 0;
  features.work = [&](McpRequest&) -> McpAnswer {
    if (works++ == 0) door.pass();
    return ordered_json::object();
  };
  const auto in_lane = [](int id, const std::string& lane) {
    json message = call(id);
    message["params"]["arguments"] = {{"lane", lane}, {"number", id}};
    return stateless(message);
  };
  for (int id = 1; id < 20; ++id) sent.send(in_lane(id, "a"));
  sent.send(in_lane(20, ""));
  std::thread client([&] {
    (void)answer_to(20);  // in addition to those of the lane, which wait for the first
    EXPECT_EQ(works, 2);
    door.open();
    for (int id = 1; id < 20; ++id) (void)answer_to(id);
    sent.end();
  });
  EXPECT_TRUE(server.serve(sent.input()));
  client.join();
  std::vector<int> order;
  for (const json& arguments : features.begun) {
    if (arguments["lane"] == "a") order.push_back(arguments["number"].get<int>());
  }
  ASSERT_EQ(order.size(), 19U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace galley
