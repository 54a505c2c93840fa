#include "server/acp/acp_proxy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// A run in memory.
class FakeWorld final : public AcpWorld {
 public:
  Result<void> check_folder(const std::string& path) override {
    if (path.starts_with("/w")) return {};
    return fail(ErrorKind::kUsage, "acp.outside", "not here");
  }
  Result<AcpFile> read(const std::string& /*session*/, const std::string& path) override {
    return AcpFile{files[path], {}, unchanged};
  }
  void note_editor_text(const std::string& /*session*/, const std::string& path) override {
    from_editor.push_back(path);
  }
  Result<void> write(const std::string& /*session*/, const std::string& path,
                     const std::string& text) override {
    files[path] = text;
    return {};
  }
  Result<void> begin_turn(const std::string& session, const std::string& prompt,
                          bool is_alone) override {
    alone.push_back(is_alone);
    begun.push_back(session + ": " + prompt);
    if (begin_error) return fail(*begin_error);
    return {};
  }
  Result<std::vector<AcpChange>> staged(const std::string& /*session*/) override {
    ++looks;
    return changes;
  }
  Result<AcpVerdict> judge(const std::string& /*session*/) override { return verdict; }
  Result<AcpCommit> commit(const std::string& /*session*/, const AcpVerdict& /*verdict*/,
                           const AcpDecision& decision) override {
    decisions.push_back(decision);
    AcpCommit made = result;
    made.is_taken_back = result.kind != AcpCommit::Kind::kChanged && !decision.rejected.empty();
    return made;
  }
  Result<void> take_saved(const std::string& /*session*/,
                          const std::vector<std::string>& paths) override {
    taken = paths;
    verdict = {};
    return {};
  }

  std::map<std::string, std::string> files;
  std::vector<std::string> from_editor;
  std::optional<Error> begin_error;
  std::vector<std::string> begun;
  std::vector<bool> alone;
  std::vector<AcpChange> changes;
  std::vector<AcpDecision> decisions;
  std::vector<std::string> taken;
  AcpVerdict verdict;
  AcpCommit result;
  bool unchanged = false;
  int looks = 0;
};

std::vector<json> messages(const std::string& lines) {
  std::vector<json> all;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    all.push_back(json::parse(lines.substr(at, end - at)));
    at = end + 1;
  }
  return all;
}

AcpVerdict verdict_on(size_t parts) {
  AcpVerdict verdict;
  verdict.proposal = "1";
  verdict.is_approved = true;
  for (size_t i = 0; i < parts; ++i) {
    verdict.parts.push_back({{"f" + std::to_string(i), "old\n", "new\n", "", "1", false}});
  }
  return verdict;
}

struct AcpProxyTest : ::testing::Test {
  /// Sends a prompt and the agent's answer.
  void take_turn(const std::string& id = "1", const std::string& session = "s") {
    proxy.take_from_editor(R"({"jsonrpc":"2.0","id":)" + id +
                           R"(,"method":"session/prompt","params":{"sessionId":")" + session +
                           R"(","prompt":[{"type":"text","text":"do it"}]}})"
                           "\n");
    prompts = messages(proxy.for_agent());
    proxy.take_from_agent(R"({"jsonrpc":"2.0","id":)" + id +
                          R"(,"result":{"stopReason":"end_turn"}})"
                          "\n");
  }
  /// The last question to the editor.
  json question() {
    said = proxy.for_editor();
    const auto all = messages(said);
    const auto last = std::find_if(all.rbegin(), all.rend(), [](const json& one) {
      return one.value("method", "") == "session/request_permission";
    });
    return last == all.rend() ? json() : *last;
  }
  void answer(const json& asked, const std::string& option) {
    proxy.take_from_editor(
        json{{"jsonrpc", "2.0"},
             {"id", asked.at("id")},
             {"result", {{"outcome", {{"outcome", "selected"}, {"optionId", option}}}}}}
            .dump() +
        "\n");
  }

  FakeWorld world;
  AcpProxy proxy{world, AcpCommitTime::kAsk, "/w"};
  std::vector<json> prompts;
  std::string said;
};

TEST_F(AcpProxyTest, OtherMessagesPassByteForByteInPieces) {
  const std::string line = "{\"jsonrpc\": \"2.0\",  \"method\":\"x/y\", \"params\":{\"a\":1.50}}\n";
  for (const char byte : line) proxy.take_from_editor(std::string(1, byte));
  EXPECT_EQ(proxy.for_agent(), line);
  proxy.take_from_agent(line + line);
  EXPECT_EQ(proxy.for_editor(), line + line);
  EXPECT_EQ(proxy.for_agent(), "");
}

TEST_F(AcpProxyTest, AMessageIsOneParseAndNoCallOfTheWorld) {
  for (int i = 0; i < 1000; ++i) {
    proxy.take_from_agent(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",)"
                          R"("update":{"sessionUpdate":"agent_message_chunk"}}})"
                          "\n");
  }
  EXPECT_EQ(messages(proxy.for_editor()).size(), 1000U);
  EXPECT_FALSE(proxy.has_rest());
  EXPECT_EQ(world.looks, 0);
}

TEST_F(AcpProxyTest, ThePromptIsAnsweredAfterTheDecision) {
  world.verdict = verdict_on(2);
  world.result = {AcpCommit::Kind::kCommitted, "Committed as 1", {}};
  take_turn();
  EXPECT_EQ(world.begun, std::vector<std::string>{"s: do it"});
  const json asked = question();
  EXPECT_THAT(said, ::testing::Not(HasSubstr("stopReason")));
  EXPECT_EQ(asked["params"]["toolCall"]["content"][1]["path"], "/w/f0");
  answer(asked, "choose");
  answer(question(), "reject");
  answer(question(), "accept");
  ASSERT_EQ(world.decisions.size(), 1U);
  EXPECT_EQ(world.decisions[0].rejected, std::vector<size_t>{0});
  EXPECT_TRUE(world.decisions[0].is_by_person);
  EXPECT_THAT(proxy.for_editor(), HasSubstr("stopReason"));
  world.verdict = {};
  take_turn("2");
  EXPECT_THAT(prompts.back()["params"]["prompt"][1]["text"].get<std::string>(), HasSubstr("f0"));
}

TEST_F(AcpProxyTest, TurnsOfSeveralSessionsAreDecidedOneAfterTheOther) {
  world.verdict = verdict_on(1);
  take_turn("1");
  take_turn("2");
  const json first = question();
  answer(first, "later");
  const json second = question();
  EXPECT_NE(first["id"], second["id"]);
  answer(first, "commit");  // an answer that was given before counts no more
  EXPECT_TRUE(world.decisions.empty());
  EXPECT_TRUE(proxy.is_in_turn());
  answer(second, "commit");
  EXPECT_EQ(world.decisions.size(), 1U);
  EXPECT_FALSE(proxy.is_in_turn());
}

TEST_F(AcpProxyTest, ACancelledTurnIsNotDecided) {
  world.verdict = verdict_on(1);
  world.changes = {{"f0", "old\n", "new\n", "", "1", false}};
  take_turn("1");
  take_turn("2", "other");
  const json first = question();
  const auto cancel = [&](const std::string& session) {
    proxy.take_from_editor(R"({"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":")" +
                           session + "\"}}\n");
  };
  cancel("other");
  EXPECT_EQ(proxy.for_editor(), "") << "the question about the first turn stays open";
  cancel("s");
  EXPECT_EQ(question(), json()) << said;
  EXPECT_FALSE(proxy.is_in_turn());
  auto answers = messages(said);
  std::erase_if(answers, [](const json& each) { return each.contains("method"); });
  ASSERT_EQ(answers.size(), 2U);
  for (const json& each : answers) EXPECT_EQ(each["result"]["stopReason"], "cancelled");
  EXPECT_TRUE(world.decisions.empty());
  take_turn("3", "other");
  EXPECT_THAT(prompts.back()["params"]["prompt"][1]["text"].get<std::string>(),
              HasSubstr("staged, but not committed"));
}

TEST_F(AcpProxyTest, ANoteIsBehindTheWordsSoACommandStaysOne) {
  world.verdict = verdict_on(1);
  take_turn();
  answer(question(), "drop");
  proxy.take_from_editor(R"({"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":)"
                         R"([{"type":"text","text":"/compact"}]}})"
                         "\n");
  const json blocks = messages(proxy.for_agent()).back()["params"]["prompt"];
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0]["text"], "/compact");
  EXPECT_THAT(blocks[1]["text"].get<std::string>(), ::testing::StartsWith("\n\n[Galley] "));
}

TEST_F(AcpProxyTest, ACancelInEveryFormIsHeard) {
  for (const char* cancel : {R"({"id":null,"method":"session/cancel","params":{"sessionId":"s"}})",
                             R"({"method":"$/cancel_request","params":{"requestId":1}})"}) {
    AcpProxy turns{world, AcpCommitTime::kAsk, "/w"};
    world.verdict = verdict_on(1);
    turns.take_from_editor(
        "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
    turns.take_from_agent("{\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    (void)turns.for_agent();
    (void)turns.for_editor();
    turns.take_from_editor(R"({"method":"$/cancel_request","params":{"requestId":7}})"
                           "\n");
    EXPECT_TRUE(turns.is_in_turn()) << "that is another request";
    (void)turns.for_agent();
    turns.take_from_editor(std::string(cancel) + "\n");
    EXPECT_FALSE(turns.is_in_turn()) << cancel;
    EXPECT_THAT(turns.for_editor(), HasSubstr("\"stopReason\":\"cancelled\""));
    const auto passed = messages(turns.for_agent());
    ASSERT_EQ(passed.size(), 1U);
    EXPECT_FALSE(passed[0].contains("id")) << "a notification for the agent, too";
  }
}

TEST_F(AcpProxyTest, NumbersOfLinesAreWholeNumbers) {
  world.files["/w/a"] = "1\n2\n3\n";
  const auto read = [&](const std::string& lines) {
    proxy.take_from_agent(
        R"({"id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a",)" + lines +
        "}}\n");
    return messages(proxy.for_agent()).at(0);
  };
  EXPECT_EQ(read(R"("line":2.0,"limit":1.0)")["result"]["content"], "2\n");
  EXPECT_EQ(read(R"("line":null,"limit":null)")["result"]["content"], "1\n2\n3\n");
  EXPECT_EQ(read(R"("line":0,"limit":9223372036854775808)")["result"]["content"], "1\n2\n3\n");
  for (const char* wrong : {"2.5", "-1", "\"2\"", "1e300", "-0.5", "true"}) {
    EXPECT_TRUE(read(std::string("\"line\":") + wrong).contains("error")) << wrong;
    EXPECT_TRUE(read(std::string("\"limit\":") + wrong).contains("error")) << wrong;
  }
}

TEST_F(AcpProxyTest, AnErrorOfNullIsNoError) {
  world.verdict = verdict_on(1);
  proxy.take_from_editor(
      "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
  proxy.take_from_agent("{\"id\":1,\"error\":null,\"result\":{\"stopReason\":\"end_turn\"}}\n");
  EXPECT_NE(question(), json()) << said;
}

TEST_F(AcpProxyTest, WhatAFailedTurnLeftIsToldAndNotCommittedUnasked) {
  for (const char* end :
       {R"("error":{"code":1,"message":"no model"})", R"("result":{"stopReason":"cancelled"})"}) {
    AcpProxy turns{world, AcpCommitTime::kTurn, "/w"};
    const auto take = [&](const std::string& answer) {
      turns.take_from_editor(
          "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
      (void)turns.for_agent();
      turns.take_from_agent("{\"id\":1," + answer + "}\n");
      return messages(turns.for_editor());
    };
    world.verdict = verdict_on(1);
    world.changes = {{"f0", "old\n", "new\n", "", "1", false}};
    world.decisions.clear();
    const auto told = take(end);
    ASSERT_EQ(told.size(), 3U) << "the change, the notice and the answer";
    EXPECT_EQ(told[1]["params"]["update"]["title"], "Not committed: 1 change");
    EXPECT_EQ(told[2]["id"], 1);
    const auto asked = take(R"("result":{"stopReason":"end_turn"})");
    ASSERT_FALSE(asked.empty());
    EXPECT_THAT(asked.back().dump(), HasSubstr("failed or was cancelled"));
    EXPECT_TRUE(world.decisions.empty());
    turns.take_from_editor(json{{"id", asked.back()["id"]}, {"result", {}}}.dump() + "\n");
    world.changes[0].path = "other";
    world.result = {AcpCommit::Kind::kCommitted, "Committed as 1", {}};
    (void)take(R"("result":{"stopReason":"end_turn"})");
    EXPECT_EQ(world.decisions.size(), 1U) << "nothing of that turn is staged any more";
  }
}

TEST_F(AcpProxyTest, ALoginRunsNoCommandOutsideOfTheSandbox) {
  proxy.take_from_editor(
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,)"
      R"("clientCapabilities":{"terminal":true,"auth":{"terminal":true,"x":1},)"
      R"("_meta":{"terminal-auth":true,"y":2}}}})"
      "\n");
  const json can = messages(proxy.for_agent()).at(0)["params"]["clientCapabilities"];
  EXPECT_EQ(can["auth"], (json{{"x", 1}}));
  EXPECT_EQ(can["_meta"], (json{{"y", 2}}));
  proxy.take_from_agent(
      R"({"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[)"
      R"({"id":"key","name":"Key"},{"id":"a","name":"A","type":"terminal","args":["--login"]},)"
      R"({"id":"b","name":"B","_meta":{"terminal-auth":{"command":"sh"}}}]}})"
      "\n");
  EXPECT_EQ(messages(proxy.for_editor()).at(0)["result"]["authMethods"],
            (json{{{"id", "key"}, {"name", "Key"}}}));
}

TEST_F(AcpProxyTest, AnAnswerToNothingIsDropped) {
  proxy.take_from_agent(R"({"jsonrpc":"2.0","id":9,"result":{}})"
                        "\n");
  EXPECT_EQ(proxy.for_editor(), "");
}

TEST_F(AcpProxyTest, AMethodHasOneSpelling) {
  proxy.take_from_agent(R"({"jsonrpc":"2.0","id":9,"Method":"terminal/create","params":{}})"
                        "\n"
                        R"({"jsonrpc":"2.0","method":"x/y","METHOD":"fs/write_text_file"})"
                        "\n");
  EXPECT_EQ(proxy.for_editor(), "");
  EXPECT_EQ(messages(proxy.for_agent()).size(), 2U) << "both are answered with an error";
}

TEST_F(AcpProxyTest, AnUnknownAnswerCommitsNothing) {
  world.verdict = verdict_on(2);
  for (const char* option : {"", "saved", "yes"}) {
    take_turn(option == std::string() ? "1" : option == std::string("saved") ? "2" : "3");
    answer(question(), option);
    EXPECT_THAT(proxy.for_editor(), HasSubstr("stopReason"));
  }
  take_turn("4");
  answer(question(), "choose");
  answer(question(), "commit");
  EXPECT_THAT(proxy.for_editor(), HasSubstr("stopReason"));
  EXPECT_TRUE(world.decisions.empty());
}

TEST_F(AcpProxyTest, AConflictTakesWhatWasSavedOnlyAfterAYes) {
  world.verdict = verdict_on(1);
  world.result = {AcpCommit::Kind::kConflict, "f0 was saved", {"f0"}};
  take_turn();
  answer(question(), "commit");
  EXPECT_TRUE(world.taken.empty());
  answer(question(), "saved");
  EXPECT_EQ(world.taken, std::vector<std::string>{"f0"});
  EXPECT_THAT(proxy.for_editor(), HasSubstr("stopReason"));
}

TEST_F(AcpProxyTest, TheEndAnswersEveryRequest) {
  world.verdict = verdict_on(1);
  proxy.take_from_editor(
      "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"session/list\",\"params\":{}}\n");
  take_turn();
  (void)proxy.for_editor();
  proxy.end();
  const auto all = messages(proxy.for_editor());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["id"], "a");
  EXPECT_THAT(all[0]["error"]["message"].get<std::string>(), HasSubstr("has ended"));
  EXPECT_EQ(all[1]["result"]["stopReason"], "end_turn");
}

TEST_F(AcpProxyTest, APromptAfterTheEndOfTheRunIsOneError) {
  world.begin_error = Error{ErrorKind::kNotFound, "run.not_found", "there is no run", "", 0};
  proxy.take_from_editor(
      "{\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
  proxy.end();
  const auto all = messages(proxy.for_editor());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0]["error"]["message"].get<std::string>(), HasSubstr("has ended"));
}

TEST_F(AcpProxyTest, AMessageOfTheAgentIsOneLineForEveryEditor) {
  proxy.take_from_agent(
      "{\"method\":\"x\",\r\"params\":\"a\xE2\x80\xA8{\xE2\x80\xA9\xC2\x85\"}\r\n");
  EXPECT_EQ(proxy.for_editor(), "{\"method\":\"x\", \"params\":\"a\\u2028{\\u2029\\u0085\"}\r\n");
  for (const char* method : {"terminal/kill", "fs/write_text_file"}) {
    proxy.take_from_agent(json{{"method", method}}.dump() + "\n");
  }
  EXPECT_EQ(proxy.for_editor(), "");
}

TEST_F(AcpProxyTest, HalfSurrogatePairsAreReplaced) {
  proxy.take_from_agent("{\"method\":\"x\",\"params\":\"\\ud83d \\ud83d\\ude00 \\\\ud83d\"}\n");
  EXPECT_EQ(proxy.for_editor(),
            "{\"method\":\"x\",\"params\":\"\\ufffd \\ud83d\\ude00 \\\\ud83d\"}\n");
  EXPECT_EQ(proxy.for_agent(), "");
}

TEST_F(AcpProxyTest, ARefusedMessageLeavesNobodyWaiting) {
  const std::string tail = ",\"result\":\"" + std::string(kMaxAcpLineBytes, 'x') + "\"}\n";
  proxy.take_from_editor(
      "{\"id\":7,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
  (void)proxy.for_agent();
  proxy.take_from_agent("{\"id\":7" + tail);
  const auto all = messages(proxy.for_editor());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["id"], 7);
  EXPECT_TRUE(all[0].contains("error"));
  EXPECT_FALSE(proxy.is_in_turn());
  proxy.take_from_editor("{\"id\":9" + tail);
  const auto told = messages(proxy.for_agent());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["id"], 9);
}

TEST_F(AcpProxyTest, AReadThatTheEditorCannotAnswerGetsTheTextOfTheRun) {
  world.unchanged = true;
  world.files["/w/a"] = "run\n";
  proxy.take_from_editor(
      R"({"id":1,"method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":true}}}})"
      "\n");
  (void)proxy.for_agent();
  proxy.take_from_agent(
      R"({"id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a"}})"
      "\n");
  const auto asked = messages(proxy.for_editor());
  ASSERT_EQ(asked.size(), 1U);
  proxy.take_from_editor("{\"id\":" + asked[0]["id"].dump() + ",\"result\":\"" +
                         std::string(kMaxAcpLineBytes, 'x') + "\"}\n");
  const auto read = messages(proxy.for_agent());
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0]["id"], 5);
  EXPECT_EQ(read[0]["result"]["content"], "run\n");
  EXPECT_TRUE(world.from_editor.empty());
}

TEST_F(AcpProxyTest, AnAgentThatDoesNotReadGetsABoundedNumberOfFiles) {
  world.files["/w/a"] = std::string(size_t{8} << 20U, 'x');
  for (int i = 0; i < 10; ++i) {
    proxy.take_from_agent(
        R"({"id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/w/a"}})"
        "\n");
  }
  EXPECT_LT(proxy.for_agent().size(), kAcpUnsentBytes + (size_t{9} << 20U));
}

TEST_F(AcpProxyTest, TheAgentIsToldOnlyOfWhatWasTakenBack) {
  world.verdict = verdict_on(1);
  world.result.kind = AcpCommit::Kind::kChanged;
  take_turn();
  for (int look = 0; look < 3; ++look) answer(question(), "drop");
  world.verdict = {};
  take_turn("2");
  EXPECT_THAT(prompts.back().dump(), ::testing::Not(HasSubstr("taken back")));
}

TEST_F(AcpProxyTest, AQuestionSaysWhatItLeavesOut) {
  world.verdict = verdict_on(60);
  take_turn();
  EXPECT_THAT(question().dump(), HasSubstr("Not shown here: 10 more changes"));
}

TEST_F(AcpProxyTest, AtTheEndOfATurnTheEditorIsToldHowManyChangesWereNotShown) {
  for (int i = 0; i < 160; ++i) {
    world.changes.push_back({"f" + std::to_string(i), {}, "new\n", "", "1", false});
  }
  take_turn();
  const std::string lines = proxy.for_editor();
  EXPECT_EQ(messages(lines).size(), 52U) << "50 changes, the note and the answer";
  EXPECT_THAT(lines, HasSubstr("Not shown: 110 more changes"));
  world.changes.resize(60);
  take_turn("2");
  EXPECT_THAT(proxy.for_editor(), ::testing::Not(HasSubstr("Not shown")));
}

TEST_F(AcpProxyTest, AChangeOfOnlyTheModeHasNoDiff) {
  world.changes = {{"a", "same\n", "same\n", "mode 644 to 755", "1", false}};
  take_turn();
  const json content = messages(proxy.for_editor()).at(0)["params"]["update"]["content"];
  ASSERT_EQ(content.size(), 1U) << content;
  EXPECT_EQ(content[0]["content"]["text"], "a: mode 644 to 755");
}

TEST_F(AcpProxyTest, CommitSessionTellsAtEachTurnWhatTheGateObjectsTo) {
  AcpProxy late{world, AcpCommitTime::kSession, "/w"};
  const auto take_late_turn = [&](const std::string& id) {
    late.take_from_editor("{\"id\":" + id +
                          ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}\n");
    (void)late.for_agent();
    late.take_from_agent("{\"id\":" + id + ",\"result\":{\"stopReason\":\"end_turn\"}}\n");
    return messages(late.for_editor());
  };
  world.verdict = verdict_on(1);
  EXPECT_EQ(take_late_turn("1").size(), 1U) << "an approved change needs no word";
  world.verdict.is_approved = false;
  world.verdict.text = "no secrets";
  const auto refused = take_late_turn("2");
  ASSERT_EQ(refused.size(), 2U);
  EXPECT_THAT(refused[0].dump(), HasSubstr("no secrets"));
  EXPECT_EQ(refused[1]["result"]["stopReason"], "end_turn");
  world.verdict.needs_person = true;
  const auto asked = take_late_turn("3");
  ASSERT_EQ(asked.size(), 1U) << "the answer waits for the person";
  EXPECT_EQ(asked[0]["method"], "session/request_permission");
}

TEST_F(AcpProxyTest, ASessionDoesNotCommitWhatAnotherOneLeftStaged) {
  const auto prompt = [&](const std::string& id, const std::string& session) {
    proxy.take_from_editor("{\"id\":" + id +
                           ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"" + session +
                           "\"}}\n");
    return messages(proxy.for_agent()).size();
  };
  EXPECT_EQ(prompt("1", "a"), 1U);
  proxy.take_from_agent("{\"id\":1,\"result\":{\"stopReason\":\"cancelled\"}}\n");
  (void)proxy.for_editor();
  world.changes = {{"f", {}, "new\n", "", "1", false}};
  EXPECT_EQ(prompt("2", "b"), 0U);
  const auto refused = messages(proxy.for_editor());
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_THAT(refused[0]["error"]["message"].get<std::string>(), HasSubstr("galley commit"));
  EXPECT_EQ(prompt("3", "a"), 1U) << "the session itself goes on";
  proxy.take_from_agent("{\"id\":3,\"result\":{\"stopReason\":\"cancelled\"}}\n");
  world.changes.clear();
  EXPECT_EQ(prompt("4", "b"), 1U);
}

TEST_F(AcpProxyTest, ATurnIsAloneIfNoOtherOneGoesOn) {
  for (const char* id : {"1", "2"}) {
    proxy.take_from_editor(std::string("{\"id\":") + id +
                           ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s" + id +
                           "\"}}\n");
  }
  EXPECT_EQ(world.alone, (std::vector<bool>{true, false}));
}

// Limit: kMaxAcpPending of server/acp/acp_proxy.h
TEST_F(AcpProxyTest, TooManyRequestsAreRefused) {
  for (size_t i = 0; i <= kMaxAcpPending; ++i) {
    proxy.take_from_editor(json{{"jsonrpc", "2.0"}, {"id", i}, {"method", "x"}}.dump() + "\n");
  }
  EXPECT_EQ(messages(proxy.for_agent()).size(), kMaxAcpPending);
  const auto refused = messages(proxy.for_editor());
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0]["id"], kMaxAcpPending);
}

// Limit: kMaxAcpDiffText of server/acp/acp_proxy.h
TEST_F(AcpProxyTest, LongDiffsAreCut) {
  world.changes = {{"a", std::string(300'000, 'a'), std::string(300'000, 'b'), "", "1", false}};
  proxy.take_from_agent(R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",)"
                        R"("update":{"sessionUpdate":"tool_call_update","status":"completed"}}})"
                        "\n");
  (void)proxy.for_editor();
  ASSERT_TRUE(proxy.has_rest());
  proxy.rest();
  const auto shown = messages(proxy.for_editor());
  ASSERT_EQ(shown.size(), 1U);
  const json& diff = shown[0]["params"]["update"]["content"][0];
  EXPECT_LT(diff["oldText"].get<std::string>().size(), kMaxAcpDiffText + 100);
  EXPECT_THAT(diff["newText"].get<std::string>(), ::testing::EndsWith("[cut]"));
  EXPECT_FALSE(proxy.has_rest());
}

// Limit: kMaxAcpParts of server/acp/acp_proxy.h
TEST_F(AcpProxyTest, TooManyPartsAreDecidedTogether) {
  for (const size_t count : {kMaxAcpParts, kMaxAcpParts + 1}) {
    world.verdict = verdict_on(count);
    take_turn(std::to_string(count));
    const json asked = question();
    EXPECT_EQ(asked.dump().find("\"choose\"") == std::string::npos, count > kMaxAcpParts);
    answer(asked, "drop");
    EXPECT_EQ(world.decisions.back().rejected.size(), count);
    (void)proxy.for_editor();
  }
}

// Limit: kMaxAcpNote of server/acp/acp_proxy.h
TEST_F(AcpProxyTest, WhatTheAgentIsToldIsBounded) {
  world.verdict = verdict_on(1);
  world.verdict.parts[0][0].new_text = std::string(100'000, 'x');
  take_turn();
  answer(question(), "drop");
  world.verdict = {};
  take_turn("2");
  EXPECT_LT(prompts.back()["params"]["prompt"][1]["text"].get<std::string>().size(),
            kMaxAcpNote + 100);
}

}  // namespace
}  // namespace galley
