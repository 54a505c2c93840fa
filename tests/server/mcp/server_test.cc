#include "server/mcp/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "server/mcp/server_facts.h"

namespace galley {
namespace {

TEST_F(McpServerFacts, ASecondRequestWithAnIdInProgressIsRefusedWithoutAnId) {
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

TEST_F(McpServerFacts, ACancelledRequestIsStoppedAndGetsNoAnswer) {
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

TEST_F(McpServerFacts, CancellingAnUnknownIdDoesNothing) {
  shake_hands();
  take({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 9}}}});
  take(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", {}}}}});
  take(call(1));
  EXPECT_TRUE(answer_to(1).contains("result"));
}

// Limit: kMaxWaiting of server/mcp/server.h
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

// Limit: kMaxCalls of server/mcp/server.h
TEST_F(McpServerFacts, OtherRequestsDoNotWaitForSlowCalls) {
  Door door;
  features.work = [&](McpRequest&) -> McpAnswer {
    door.pass();
    return ordered_json::object();
  };
  shake_hands();
  constexpr size_t kAll = McpServer::kMaxCalls + 3;
  for (size_t i = 0; i < kAll; ++i) take(call(i));
  take(request("list", "tools/list"));
  EXPECT_TRUE(answer_to("list").contains("result"));
  door.open();
  for (size_t i = 0; i < kAll; ++i) answer_to(i);
}

// Limit: kMaxSubscriptions of server/mcp/server.h
TEST_F(McpServerFacts, SubscriptionsAreBounded) {
  shake_hands();
  for (size_t i = 0; i <= McpServer::kMaxSubscriptions; ++i) {
    take(request(i, "resources/subscribe", {{"uri", "a:" + std::to_string(i)}}));
  }
  EXPECT_TRUE(answer_to(0).contains("result"));
  EXPECT_TRUE(answer_to(McpServer::kMaxSubscriptions).contains("error"));
}

TEST_F(McpServerFacts, ProgressIsReportedOnlyWhenItGrows) {
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
  // No request waits for a second one.
  take({{"jsonrpc", "2.0"}, {"id", question["id"]}, {"result", {{"action", "decline"}}}});
}

TEST_F(McpServerFacts, TheQuestionOfACancelledRequestIsWithdrawn) {
  Door asked_twice;
  std::atomic<int> asks = 0;
  std::vector<ordered_json> answers;
  features.work = [&](McpRequest& asked) -> McpAnswer {
    answers.emplace_back(*asked.ask("who", "elicitation/create", {{"message", "who?"}}));
    if (++asks == 1) asked_twice.open();
    return ordered_json{{"said", answers.back()}};
  };
  const auto is_question = [](const json& message) {
    return message.value("method", "") == "elicitation/create";
  };
  shake_hands({{"elicitation", json::object()}});
  take(call(1));
  const json first = wait_for(is_question);
  take({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 1}}}});
  asked_twice.pass();
  const auto withdrawn = [&](const json& id) {
    const std::lock_guard lock(mutex);
    return std::count_if(said.begin(), said.end(), [&](const json& message) {
      return message.value("method", "") == "notifications/cancelled" &&
             message["params"]["requestId"] == id;
    });
  };
  EXPECT_EQ(withdrawn(first["id"]), 1);
  take(call(2));
  const json second = wait_for(
      [&](const json& message) { return is_question(message) && message["id"] != first["id"]; });
  take({{"jsonrpc", "2.0"}, {"id", first["id"]}, {"result", {{"action", "accept"}}}});
  take({{"jsonrpc", "2.0"}, {"id", second["id"]}, {"result", {{"action", "decline"}}}});
  EXPECT_EQ(answer_to(2)["result"]["said"]["action"], "decline");
  server.finish();
  EXPECT_TRUE(answers[0].is_null());
  EXPECT_EQ(answers_to(1), 0U);
  EXPECT_EQ(withdrawn(second["id"]), 0);
}

TEST_F(McpServerFacts, OnlyAClientThatShowsFormsIsAsked) {
  bool can = false;
  features.work = [&](McpRequest& asked) -> McpAnswer {
    can = asked.client_can("elicitation");
    return ordered_json::object();
  };
  const std::vector<std::pair<json, bool>> all = {{json::object(), true},
                                                  {{{"form", json::object()}}, true},
                                                  {{{"url", json::object()}}, false}};
  for (size_t i = 0; i < all.size(); ++i) {
    take(stateless(call(i), {{"elicitation", all[i].first}}));
    answer_to(i);
    EXPECT_EQ(can, all[i].second) << all[i].first;
  }
}

TEST_F(McpServerFacts, AVersionWithBatchesIsNotOffered) {
  const auto agreed = [&](const std::string& asked) {
    take(request(asked, "initialize", {{"protocolVersion", asked}}));
    return answer_to(asked)["result"]["protocolVersion"];
  };
  EXPECT_EQ(agreed("2025-06-18"), "2025-06-18");
  EXPECT_EQ(agreed("2025-03-26"), "2024-11-05");
  EXPECT_EQ(agreed("2024-10-07"), "2025-11-25");
  EXPECT_EQ(agreed("2030-01-01"), "2025-11-25");
}

TEST_F(McpServerFacts, NotificationsAndResponsesGetNoAnswer) {
  server.take(R"({"jsonrpc":"2.0","method":"notifications/progress","params":[1]})");
  server.take(R"({"method":"notifications/progress"})");
  server.take(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}})");
  server.take(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{}})");
  server.take(R"({"jsonrpc":"2.0","id":1,"error":"x"})");
  EXPECT_TRUE(said.empty());
  server.take(R"({"jsonrpc":"2.0","method":1})");
  server.take(R"({"jsonrpc":"2.0"})");
  EXPECT_EQ(said.size(), 2U);
}

TEST_F(McpServerFacts, ARequestThatCannotBeReadIsAnsweredWithItsId) {
  const std::string long_text(10'000, 'x');
  const std::vector<std::pair<std::string, json>> lines = {
      {R"({"jsonrpc":"2.0","id":5,"method":"m","params":{"id":1,"text":"cut \ud83d"}})", 5},
      {R"({"method":"m","params":{"text":"\ud83d)" + long_text + R"("},"jsonrpc":"2.0","id":"a"})",
       "a"},
      {R"({"jsonrpc":"2.0","id":6,"method":"m","params":{"n":18446744073709551617}})", 6},
      {R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}})", 7},
      {R"({"jsonrpc":"2.0","id":8,"method":"m","params":{"a":NaN}})", 8},
      {R"({"jsonrpc":"2.0","id":9,"result":{"text":"\ud83d"}})", nullptr},
      {R"({"jsonrpc":"2.0","method":"m","params":{"id":9,"text":"\ud83d"}})", nullptr},
      {R"({"jsonrpc":"2.0","id":)", nullptr},
  };
  for (const auto& [line, id] : lines) {
    said.clear();
    server.take(line);
    ASSERT_EQ(said.size(), 1U) << line;
    EXPECT_EQ(said[0].value("id", json()), id) << line;
    EXPECT_TRUE(said[0].contains("error")) << line;
  }
}

TEST_F(McpServerFacts, AnUnansweredQuestionEndsWithTheInput) {
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

TEST_F(McpServerFacts, AStatelessQuestionIsAResultAndAnswersAccumulate) {
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

TEST_F(McpServerFacts, AClientThatCannotBeAskedGetsTheMissingCapability) {
  features.work = [&](McpRequest& asked) -> McpAnswer {
    static_cast<void>(asked.ask("who", "sampling/createMessage", {}));
    return ordered_json::object();
  };
  take(stateless(call(1)));
  const json error = answer_to(1)["error"];
  EXPECT_EQ(error["code"], rpc::kMissingCapability);
  EXPECT_TRUE(error["data"]["requiredCapabilities"].contains("sampling"));
}

TEST_F(McpServerFacts, AnExceptionFailsOnlyItsRequest) {
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

TEST_F(McpServerFacts, AMemberThatIsNullIsAbsent) {
  shake_hands();
  take(request(1, "tools/list", nullptr));
  EXPECT_EQ(answer_to(1)["result"]["tools"].size(), 1U);
  take(request(2, "tools/list", {{"cursor", nullptr}, {"_meta", nullptr}}));
  EXPECT_EQ(answer_to(2)["result"]["tools"].size(), 1U);
  take(request(3, "tools/call",
               {{"name", "work"},
                {"arguments", nullptr},
                {"inputResponses", nullptr},
                {"requestState", nullptr}}));
  EXPECT_TRUE(answer_to(3).contains("result")) << answer_to(3);
  EXPECT_EQ(features.begun, std::vector<json>{json::object()});
  take(request(4, "tools/list", json::array()));
  EXPECT_EQ(answer_to(4)["error"]["code"], rpc::kInvalidParams);
}

TEST_F(McpServerFacts, AChangeIsReportedOnlyToSubscribers) {
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

TEST_F(McpServerFacts, AChangeBelowAUriIsReportedToSubscribersBelowIt) {
  shake_hands();
  for (const char* uri : {"a/x", "a/y", "ab", "b/x"}) {
    take(request(uri, "resources/subscribe", {{"uri", uri}}));
    answer_to(uri);
  }
  features.change("a/");
  features.change("b/");
  std::vector<std::string> told;
  for (const json& message : said) {
    if (message.contains("method")) told.push_back(message["params"]["uri"]);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"a/x", "a/y", "b/x"}));
}

TEST_F(McpServerFacts, AChangedListOfToolsIsReportedToSubscribers) {
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

TEST_F(McpServerFacts, ACompletionGetsTheOtherArguments) {
  shake_hands();
  take(request(1, "completion/complete",
               {{"ref", {{"type", "ref/resource"}, {"uri", "x"}}},
                {"argument", {{"name", "path"}, {"value", "a/"}}},
                {"context", {{"arguments", {{"tx", "t1"}}}}}}));
  EXPECT_EQ(answer_to(1)["result"]["completion"]["values"].size(), 100U);
  EXPECT_EQ(features.completed["tx"], "t1");
}

TEST_F(McpServerFacts, AnIdInProgressIsNotReused) {
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

TEST_F(McpServerFacts, AChangeIsReportedAfterTheAcknowledgement) {
  const std::string line =
      stateless(request("s", "subscriptions/listen",
                        {{"notifications", {{"resourceSubscriptions", {"a:1"}}}}}))
          .dump();
  for (int i = 0; i < 2000; ++i) {
    OneTool one;
    std::string first;
    McpServer stream(one, clock, [&](const McpServer::Outgoing& sent) {
      if (first.empty()) first = sent.line;
    });
    std::atomic<bool> is_over = false;
    std::jthread changing([&] {
      while (!is_over) one.change("a:1");
    });
    stream.take(line);
    is_over = true;
    changing.join();
    ASSERT_NE(first.find("notifications/subscriptions/acknowledged"), std::string::npos) << i;
  }
}

/// A clock that a test sets.
class SetClock final : public Clock {
 public:
  int64_t now_ns = 0;
  [[nodiscard]] int64_t wall_ns() const override { return now_ns; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return {}; }
};

// Limit: kMaxBytes of server/mcp/request_state.h
TEST(RequestStateFacts, AStateIsInvalidForAnotherRequestKeyOrTime) {
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
