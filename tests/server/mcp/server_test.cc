#include "server/mcp/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// A server's features whose one tool does what the test says.
class OneTool final : public McpFeatures {
 public:
  std::function<McpAnswer(McpRequest&)> work = [](McpRequest&) { return ordered_json::object(); };

  [[nodiscard]] Identity identity() const override { return {"one", "", "1", ""}; }
  std::vector<ordered_json> tools() override { return {{{"name", "work"}}}; }
  McpAnswer call_tool(const std::string& name, const json& arguments,
                      McpRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      begun.push_back(arguments);
    }
    if (name != "work") return RpcError{rpc::kInvalidParams, "there is no such tool"};
    return work(request);
  }
  [[nodiscard]] std::string lane_of(const std::string& /*method*/,
                                    const json& params) const override {
    return params.contains("arguments") ? params["arguments"].value("lane", "") : std::string();
  }
  std::vector<ordered_json> resources() override {
    return std::vector<ordered_json>(McpServer::kPageItems + 1, ordered_json::object());
  }
  std::vector<ordered_json> resource_templates() override { return {}; }
  McpAnswer read_resource(const std::string& /*uri*/, McpRequest& /*request*/) override {
    return ordered_json::object();
  }
  std::vector<ordered_json> prompts() override { return {}; }
  McpAnswer get_prompt(const std::string& /*name*/, const json& /*arguments*/,
                       McpRequest& request) override {
    return work(request);
  }
  std::vector<std::string> complete(const Completion& wanted) override {
    completed = wanted.resolved;
    return std::vector<std::string>(101, "x");
  }
  void on_change(Changed changed) override { changed_ = std::move(changed); }
  void change(std::string_view uri) { changed_(uri); }
  std::vector<json> begun;  ///< the arguments of all calls, in the order in which they were begun
  json completed;           ///< the other arguments that came with a completion

 private:
  Changed changed_;
  std::mutex mutex_;
};

/// A server and everything it said.
class McpServerFacts : public ::testing::Test {
 protected:
  OneTool features;
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable said_more;
  std::vector<json> said;
  McpServer server{features, clock, [this](const std::string& line) {
                     const std::lock_guard lock(mutex);
                     said.push_back(json::parse(line));
                     said_more.notify_all();
                   }};

  void take(const json& message) { server.take(message.dump()); }
  void shake_hands(const json& capabilities = json::object()) {
    take({{"jsonrpc", "2.0"},
          {"id", "hello"},
          {"method", "initialize"},
          {"params", {{"protocolVersion", "2025-11-25"}, {"capabilities", capabilities}}}});
  }
  static json request(const json& id, const std::string& method, json params = json::object()) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
  }
  static json call(const json& id) { return request(id, "tools/call", {{"name", "work"}}); }
  static json stateless(json message, const json& capabilities = json::object()) {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    return message;
  }
  /// The first message that is like this; waits for it.
  json wait_for(const std::function<bool(const json&)>& is_it) {
    std::unique_lock lock(mutex);
    json found;
    said_more.wait(lock, [&] {
      for (const json& message : said) {
        if (is_it(message)) found = message;
      }
      return !found.is_null();
    });
    return found;
  }
  json answer_to(const json& id) {
    return wait_for([&](const json& message) {
      return !message.contains("method") && message.contains("id") && message["id"] == id;
    });
  }
  size_t answers_to(const json& id) {
    const std::lock_guard lock(mutex);
    return static_cast<size_t>(std::count_if(said.begin(), said.end(), [&](const json& message) {
      return !message.contains("method") && message.contains("id") && message["id"] == id;
    }));
  }
};

/// What a client sends, as far as it has sent it.
class SentLines {
 public:
  void send(const json& message) {
    const std::lock_guard lock(mutex_);
    lines_.push_back({message.dump(), false, false});
    more_.notify_all();
  }
  void send_too_long() {
    const std::lock_guard lock(mutex_);
    lines_.push_back({{}, true, false});
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

/// A door that a test opens when it wants a call to go on.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    moved_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  bool is_open_ = false;
};

TEST_F(McpServerFacts, ASecondRequestWithAnIdThatIsWorkedOnIsRefusedWithoutTakingItsAnswer) {
  Door door;
  features.work = [&](McpRequest&) -> McpAnswer {
    door.pass();
    return ordered_json{{"done", true}};
  };
  shake_hands();
  take(call(7));
  take(call(7));
  const json refused = wait_for([](const json& message) { return message.contains("error"); });
  EXPECT_FALSE(refused.contains("id"));
  door.open();
  EXPECT_EQ(answer_to(7)["result"]["done"], true);
  server.finish();
  EXPECT_EQ(answers_to(7), 1U);
}

TEST_F(McpServerFacts, WhatIsCancelledIsStoppedAndGetsNoAnswer) {
  Door begun;
  Door door;
  features.work = [&](McpRequest& asked) -> McpAnswer {
    begun.open();
    door.pass();
    EXPECT_TRUE(asked.stop().stop_requested());
    asked.progress(1, {}, "still here");
    return ordered_json::object();
  };
  shake_hands();
  take(call(7));
  begun.pass();
  take({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 7}}}});
  door.open();
  server.finish();
  EXPECT_EQ(answers_to(7), 0U);
}

TEST_F(McpServerFacts, CancellingAnIdThatIsNotThereDoesNothing) {
  shake_hands();
  take({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 9}}}});
  take(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", {}}}}});
  take(call(1));
  EXPECT_TRUE(answer_to(1).contains("result"));
}

TEST_F(McpServerFacts, TooManyRequestsAreAnsweredWithAnError) {
  Door door;
  features.work = [&](McpRequest&) -> McpAnswer {
    door.pass();
    return ordered_json::object();
  };
  shake_hands();
  constexpr size_t kAll = McpServer::kMaxWaiting + McpServer::kMaxWorkers + 1;
  for (size_t i = 0; i < kAll; ++i) take(call(i));
  wait_for([](const json& message) { return message.contains("error"); });
  door.open();
  for (size_t i = 0; i < kAll; ++i) answer_to(i);
}

TEST_F(McpServerFacts, SubscriptionsAreBounded) {
  shake_hands();
  for (size_t i = 0; i <= McpServer::kMaxSubscriptions; ++i) {
    take(request(i, "resources/subscribe", {{"uri", "a:" + std::to_string(i)}}));
  }
  EXPECT_TRUE(answer_to(0).contains("result"));
  EXPECT_TRUE(answer_to(McpServer::kMaxSubscriptions).contains("error"));
}

TEST_F(McpServerFacts, ProgressGrowsOrIsNotTold) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    for (const double done : {1.0, 1.0, 0.5, 2.0}) asked.progress(done, 4.0, "");
    return ordered_json::object();
  };
  shake_hands();
  json asked = call(1);
  asked["params"]["_meta"]["progressToken"] = "t";
  take(asked);
  take(call(2));  // without a token nothing is told
  answer_to(1);
  answer_to(2);
  std::vector<double> told;
  for (const json& message : said) {
    if (message.value("method", "") != "notifications/progress") continue;
    EXPECT_EQ(message["params"]["progressToken"], "t");
    told.push_back(message["params"]["progress"]);
  }
  EXPECT_EQ(told, (std::vector<double>{1.0, 2.0}));
}

TEST_F(McpServerFacts, AQuestionInTheHandshakeEraWaitsForItsAnswer) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    const auto answer = asked.ask("who", "elicitation/create", {{"message", "who?"}});
    return ordered_json{{"said", *answer}};
  };
  shake_hands({{"elicitation", json::object()}});
  take(call(1));
  const json question = wait_for(
      [](const json& message) { return message.value("method", "") == "elicitation/create"; });
  take({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "accept"}}}});
  EXPECT_EQ(answer_to(1)["result"]["said"]["action"], "accept");
  // Nobody waits for a second one.
  take({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "decline"}}}});
}

TEST_F(McpServerFacts, AQuestionThatNobodyAnswersEndsWithTheInput) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    const auto answer = asked.ask("who", "elicitation/create", {{"message", "who?"}});
    return ordered_json{{"said", *answer}};
  };
  shake_hands({{"elicitation", json::object()}});
  take(call(1));
  wait_for([](const json& message) { return message.value("method", "") == "elicitation/create"; });
  server.finish();
  EXPECT_TRUE(answer_to(1)["result"]["said"].is_null());
}

TEST_F(McpServerFacts, AStatelessQuestionIsAResultAndItsRoundsAddUp) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    const auto first = asked.ask("first", "elicitation/create", {{"message", "1?"}});
    if (!first) return ordered_json::object();
    const auto second = asked.ask("second", "elicitation/create", {{"message", "2?"}});
    if (!second) return ordered_json::object();
    return ordered_json{{"said", {*first, *second}}};
  };
  const json can = {{"elicitation", json::object()}};
  take(stateless(call(1), can));
  json round = answer_to(1)["result"];
  EXPECT_EQ(round["resultType"], "input_required");
  EXPECT_FALSE(round.contains("ttlMs"));
  json again = stateless(call(2), can);
  again["params"]["inputResponses"] = {{"first", 1}};
  again["params"]["requestState"] = round["requestState"];
  take(again);
  round = answer_to(2)["result"];
  EXPECT_TRUE(round["inputRequests"].contains("second"));
  again["id"] = 3;
  again["params"]["inputResponses"] = {{"second", 2}, {"nobody asked", 3}};
  again["params"]["requestState"] = round["requestState"];
  take(again);
  round = answer_to(3)["result"];
  EXPECT_EQ(round["resultType"], "complete");
  EXPECT_EQ(round["said"], json::parse("[1, 2]"));
}

TEST_F(McpServerFacts, AClientThatCannotBeAskedIsToldWhatItLacks) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    static_cast<void>(asked.ask("who", "sampling/createMessage", {}));
    return ordered_json::object();
  };
  take(stateless(call(1)));
  const json error = answer_to(1)["error"];
  EXPECT_EQ(error["code"], rpc::kMissingCapability);
  EXPECT_TRUE(error["data"]["requiredCapabilities"].contains("sampling"));
}

TEST_F(McpServerFacts, AnExceptionIsAnErrorOfOneRequest) {
  features.work = [](McpRequest&) -> McpAnswer { throw std::runtime_error("broken"); };
  shake_hands();
  take(call(1));
  EXPECT_EQ(answer_to(1)["error"]["code"], rpc::kInternalError);
  take(request(2, "ping"));
  EXPECT_TRUE(answer_to(2).contains("result"));
}

TEST_F(McpServerFacts, ListsComeInPages) {
  shake_hands();
  take(request(1, "resources/list"));
  const json first = answer_to(1)["result"];
  EXPECT_EQ(first["resources"].size(), McpServer::kPageItems);
  take(request(2, "resources/list", {{"cursor", first["nextCursor"]}}));
  EXPECT_EQ(answer_to(2)["result"]["resources"].size(), 1U);
  for (const json& wrong : {json("0"), json("99999"), json("-1"), json("x"), json(7)}) {
    take(request("wrong " + wrong.dump(), "resources/list", {{"cursor", wrong}}));
    EXPECT_EQ(answer_to("wrong " + wrong.dump())["error"]["code"], rpc::kInvalidParams);
  }
}

TEST_F(McpServerFacts, AChangeIsToldToWhoSubscribedOnly) {
  shake_hands();
  take(request(1, "resources/subscribe", {{"uri", "a:1"}}));
  features.change("a:1");
  features.change("a:2");
  take(request(2, "resources/unsubscribe", {{"uri", "a:1"}}));
  features.change("a:1");
  size_t told = 0;
  for (const json& message : said)
    told += message.value("method", "") == "notifications/resources/updated";
  EXPECT_EQ(told, 1U);
}

TEST_F(McpServerFacts, ThatTheListOfToolsChangedIsToldToWhoWantsToHear) {
  take(stateless(request("no", "subscriptions/listen",
                         {{"notifications", {{"resourcesListChanged", true}}}})));
  take(stateless(
      request("yes", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}})));
  features.change(McpFeatures::kListOfTools);
  ASSERT_EQ(said.size(), 3U) << "two acknowledgements and one notification";
  EXPECT_EQ(said[2]["method"], "notifications/tools/list_changed");
  EXPECT_EQ(said[2]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "yes");
  shake_hands();
  said.clear();
  features.change(McpFeatures::kListOfTools);
  EXPECT_EQ(said[0]["method"], "notifications/tools/list_changed");
  EXPECT_FALSE(said[0].contains("params"));
}

TEST_F(McpServerFacts, ACompletionHasTheOtherArguments) {
  shake_hands();
  take(request(1, "completion/complete",
               {{"ref", {{"type", "ref/resource"}, {"uri", "x"}}},
                {"argument", {{"name", "path"}, {"value", "a/"}}},
                {"context", {{"arguments", {{"tx", "t1"}}}}}}));
  EXPECT_EQ(answer_to(1)["result"]["completion"]["values"].size(), 100U);
  EXPECT_EQ(features.completed["tx"], "t1");
}

TEST_F(McpServerFacts, NothingElseIsAnsweredUnderAnIdThatIsWorkedOn) {
  Door door;
  features.work = [&](McpRequest&) -> McpAnswer {
    door.pass();
    return ordered_json::object();
  };
  shake_hands();
  take(call(7));
  take(request(7, "ping"));
  take(request(7, "initialize"));
  take(request(7, "no/such"));
  take({{"jsonrpc", "2.0"}, {"id", 7}});
  take({{"jsonrpc", "1.0"}, {"id", 7}, {"method", "ping"}});
  take({{"jsonrpc", "2.0"}, {"id", 7}, {"method", "ping"}, {"params", 1}});
  EXPECT_EQ(answers_to(7), 0U);
  door.open();
  server.finish();
  EXPECT_EQ(answers_to(7), 1U);
}

TEST_F(McpServerFacts, AStreamIsAcknowledgedFirstAndAnsweredWhenTheServerEnds) {
  take(stateless(request("s", "subscriptions/listen",
                         {{"notifications", {{"resourceSubscriptions", {"a:1"}}}}})));
  features.change("a:1");
  features.change("");
  server.finish();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0]["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(said[1]["params"]["uri"], "a:1");
  EXPECT_EQ(said[2]["id"], "s");
  for (const json& message : said) {
    const json& body = message.contains("params") ? message["params"] : message["result"];
    EXPECT_EQ(body["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
  }
}

TEST_F(McpServerFacts, WhatIsReadIsAnsweredToItsEnd) {
  SentLines sent;
  sent.send(call(1));  // nobody has said hello
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

TEST_F(McpServerFacts, ARequestThatTakesLongKeepsNoOtherFromBeingRead) {
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

TEST_F(McpServerFacts, AQuestionToTheClientIsAnsweredByWhatIsReadMeanwhile) {
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

TEST_F(McpServerFacts, RequestsOfOneLaneAreWorkedOnInTheirOrder) {
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
    (void)answer_to(20);  // beside those of the lane, which wait for the first
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

/// A clock that a test sets.
class SetClock final : public Clock {
 public:
  int64_t now_ns = 0;
  [[nodiscard]] int64_t wall_ns() const override { return now_ns; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return {}; }
};

TEST(RequestStateFacts, AnotherRequestAKeyAndTimeMakeItWorthless) {
  SetClock clock;
  const RequestState states(clock);
  const std::string sealed = states.seal("tools/call", "{}", {{"a", 1}});
  ASSERT_TRUE(states.open("tools/call", "{}", sealed));
  EXPECT_EQ((*states.open("tools/call", "{}", sealed))["a"], 1);
  EXPECT_FALSE(states.open("tools/call", "{\"x\":1}", sealed));
  EXPECT_FALSE(states.open("prompts/get", "{}", sealed));
  EXPECT_FALSE(RequestState(clock).open("tools/call", "{}", sealed));
  for (size_t i = 0; i < sealed.size(); i += 7) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(states.open("tools/call", "{}", changed)) << i;
  }
  EXPECT_FALSE(states.open("tools/call", "{}", std::string(RequestState::kMaxBytes + 1, 'x')));
  clock.now_ns = std::chrono::nanoseconds(RequestState::kLifetime).count() + 1;
  EXPECT_FALSE(states.open("tools/call", "{}", sealed));
}

}  // namespace
}  // namespace galley
