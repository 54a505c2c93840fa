#include "tools/mcp/mcp_dialogue.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace galley {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const json kEcho = {{"name", "echo"}, {"inputSchema", {{"type", "object"}}}};

json response(const json& id, const json& result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", result}};
}

json error(const json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

json hello(const std::string& version) {
  return {{"protocolVersion", version},
          {"capabilities", {{"tools", json::object()}}},
          {"serverInfo", {{"name", "fake"}, {"version", "3"}}}};
}

/// The messages in what a client writes.
std::vector<json> messages(const std::string& text) {
  std::vector<json> all;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    all.push_back(json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  EXPECT_EQ(begin, text.size()) << "each message ends its line";
  return all;
}

/// A server that answers by rote; a test replaces what it wants otherwise.
class McpDialogues : public ::testing::Test {
 protected:
  McpDialogues() {
    errand_.version = "2025-11-25";
    errand_.root = "/home/ann/a b";
    errand_.call = McpClientTask::Call{"echo", {{"text", "x"}}};
  }

  json answer(const json& request) {
    const std::string method = request["method"];
    const json& id = request["id"];
    if (method == "initialize") return response(id, hello(version_));
    if (method == "server/discover") return probe_.is_null() ? error(id, -32601, "no") : probe_;
    if (method == "tools/list" && !pages_.empty()) {
      const json asked = request["params"].value("cursor", json());
      cursors_.push_back(asked);
      const auto page = pages_.find(asked);
      return page == pages_.end() ? error(id, refusal_, "no such page")
                                  : response(id, page->second);
    }
    if (method == "tools/list") return response(id, {{"tools", tools_}});
    return response(id, result_);
  }

  /// Speaks until the client has nothing more to say. Returns what it asked for, in order.
  std::vector<std::string> talk() {
    McpDialogue dialogue(errand_);
    std::vector<std::string> methods;
    std::string said = dialogue.begin();
    while (!said.empty()) {
      std::string back = preface_;
      preface_.clear();
      for (const json& message : messages(said)) {
        if (!message.contains("method")) {
          answers_.push_back(message);
          continue;
        }
        methods.push_back(message["method"]);
        if (message.contains("id")) back += answer(message).dump() + "\n";
        if (message["method"] == "tools/call") back += after_call_;
      }
      said = dialogue.take(back);
    }
    is_over_ = dialogue.is_over();
    outcome_ = dialogue.outcome();
    return methods;
  }
  std::string reason() { return outcome_ ? "" : outcome_.error().reason; }

  McpClientTask errand_;
  std::string version_ = "2025-11-25";
  json tools_ = json::array({kEcho});
  json result_ = {{"content", json::array({{{"type", "text"}, {"text", "x"}}})}};
  json probe_ = nullptr;
  std::map<json, json> pages_;  ///< of the list, by their cursors; null: the first
  std::vector<json> cursors_;   ///< that were asked for
  int refusal_ = -32602;        ///< the code of the error about an unknown cursor
  std::string preface_;         ///< written before the first answer
  std::string after_call_;      ///< written behind that of the call
  std::vector<json> answers_;
  bool is_over_ = false;
  Result<McpReply> outcome_ = McpReply();
};

TEST_F(McpDialogues, ADialogueHasAHandshakeAListAndACall) {
  EXPECT_THAT(talk(),
              ElementsAre("initialize", "notifications/initialized", "tools/list", "tools/call"));
  ASSERT_TRUE(outcome_) << outcome_.error().message;
  EXPECT_EQ(outcome_->result["content"][0]["text"], "x");
  EXPECT_EQ(outcome_->server, "fake 3");
  EXPECT_EQ(outcome_->version, "2025-11-25");
}

TEST_F(McpDialogues, OnlyKnownHandshakeVersionsAreAccepted) {
  for (const std::string& version : handshake_versions()) {
    version_ = version;
    talk();
    ASSERT_TRUE(outcome_) << version;
    EXPECT_EQ(outcome_->version, version);
  }
  for (const std::string version : {"", "1999-01-01", "2026-07-28"}) {
    version_ = version;
    talk();
    EXPECT_EQ(reason(), "tool.output") << version;
  }
}

TEST_F(McpDialogues, AStatelessServerIsProbedAndNeedsNoHandshake) {
  errand_.version.clear();
  probe_ = response(1, {{"supportedVersions", {"2026-07-28"}}});
  EXPECT_THAT(talk(), ElementsAre("server/discover", "tools/list", "tools/call"));
  EXPECT_EQ(outcome_->version, "2026-07-28");
  errand_.version = "2026-07-28";
  EXPECT_THAT(talk(), ElementsAre("tools/list", "tools/call"));
}

TEST_F(McpDialogues, AStatelessRequestStatesItsVersion) {
  errand_.version = "2026-07-28";
  McpDialogue dialogue(errand_);
  const json first = messages(dialogue.begin()).at(0);
  EXPECT_EQ(first["params"]["_meta"][kMcpVersionKey], "2026-07-28");
  EXPECT_TRUE(first["params"]["_meta"][kMcpCapabilitiesKey].is_object());
}

TEST_F(McpDialogues, AServerThatDoesNotKnowTheProbeGetsAHandshake) {
  errand_.version.clear();
  EXPECT_THAT(talk(), ElementsAre("server/discover", "initialize", "notifications/initialized",
                                  "tools/list", "tools/call"));
  ASSERT_TRUE(outcome_);
  probe_ = response(1, {{"supportedVersions", {"2099-01-01"}}});
  talk();
  EXPECT_EQ(outcome_->version, "2025-11-25");
  errand_.skips_probe = true;
  EXPECT_EQ(talk().front(), "initialize");
}

TEST_F(McpDialogues, PiecesOfAnySizeAreAccepted) {
  McpDialogue dialogue(errand_);
  std::string said = dialogue.begin();
  while (!said.empty()) {
    std::string back;
    for (const json& message : messages(said)) {
      if (message.contains("id")) back += answer(message).dump() + "\r\n\n";
    }
    said.clear();
    for (const char c : back) said += dialogue.take(std::string(1, c));
  }
  EXPECT_TRUE(dialogue.outcome()) << dialogue.outcome().error().message;
}

TEST_F(McpDialogues, NothingIsCalledIfTheCheckOfDefinitionsFails) {
  errand_.check = [](const std::vector<json>& now) -> Result<void> {
    EXPECT_THAT(now, SizeIs(1));
    return fail(ErrorKind::kRefused, "tool.definition_changed", "other");
  };
  const auto methods = talk();
  EXPECT_THAT(methods, ::testing::Not(::testing::Contains("tools/call")));
  EXPECT_EQ(reason(), "tool.definition_changed");
}

TEST_F(McpDialogues, AChangedListIsReadAndCheckedAgain) {
  size_t judged = 0;
  errand_.check = [&](const std::vector<json>&) -> Result<void> {
    if (++judged < 2) return {};
    return fail(ErrorKind::kRefused, "tool.definition_changed", "other");
  };
  after_call_ = json({{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}}).dump();
  after_call_ += "\n";
  preface_ = after_call_;
  std::swap(after_call_, preface_);
  talk();
  EXPECT_TRUE(outcome_) << "said behind the answer: the dialogue is over already";
  EXPECT_EQ(judged, 1U);
  judged = 0;
  after_call_.clear();
  McpDialogue dialogue(errand_);
  std::string said = dialogue.begin();
  bool is_told = false;
  while (!said.empty()) {
    std::string back;
    for (const json& message : messages(said)) {
      if (message["method"] == "tools/call" && !std::exchange(is_told, true)) {
        back += R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"
                "\n";
      }
      if (message.contains("id")) back += answer(message).dump() + "\n";
    }
    said = dialogue.take(back);
  }
  EXPECT_EQ(judged, 2U);
  EXPECT_EQ(dialogue.outcome().error().reason, "tool.definition_changed");
}

// Limit: kMaxListReadings of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, AListThatKeepsChangingIsAnError) {
  McpDialogue dialogue(errand_);
  std::string said = dialogue.begin();
  size_t lists = 0;
  while (!said.empty()) {
    std::string back;
    for (const json& message : messages(said)) {
      if (message["method"] == "tools/list") {
        ++lists;
        back += R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"
                "\n";
      }
      if (message.contains("id")) back += answer(message).dump() + "\n";
    }
    said = dialogue.take(back);
  }
  EXPECT_EQ(lists, McpDialogue::kMaxListReadings);
  EXPECT_EQ(dialogue.outcome().error().reason, "tool.output");
}

TEST_F(McpDialogues, RequestsOfAServerAreAnsweredOnce) {
  preface_ = R"({"jsonrpc":"2.0","id":"r","method":"roots/list"})"
             "\n"
             R"({"jsonrpc":"2.0","id":7,"method":"ping"})"
             "\n"
             R"({"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}})"
             "\n"
             R"({"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}})"
             "\n";
  talk();
  ASSERT_TRUE(outcome_);
  ASSERT_THAT(answers_, SizeIs(4));
  EXPECT_EQ(answers_[0]["result"]["roots"][0]["uri"], "file:///home/ann/a%20b");
  EXPECT_EQ(answers_[0]["result"]["roots"][0]["name"], "a b");
  EXPECT_EQ(answers_[1]["result"], json::object());
  EXPECT_EQ(answers_[2]["error"]["code"], rpc::kMethodNotFound);
  EXPECT_EQ(answers_[3]["error"]["code"], rpc::kMethodNotFound);
}

// Limit: kMaxServerRequests of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, TooManyRequestsOfAServerAreAnError) {
  for (size_t i = 0; i <= McpDialogue::kMaxServerRequests; ++i) {
    preface_ += R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                R"(,"method":"ping"})"
                "\n";
  }
  talk();
  EXPECT_EQ(reason(), "limit.tool_output");
}

TEST_F(McpDialogues, MalformedMessagesEndTheDialogue) {
  const std::vector<std::string> all = {
      "Server listening on stdio",
      "{",
      "[]",
      "null",
      "{}",
      "\xff\xfe",
      std::string(10'000, '['),
      R"({"jsonrpc":"2.0","id":1,"id":1,"result":{}})",
      R"({"jsonrpc":"2.0","id":null,"result":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})",
      R"([{"jsonrpc":"2.0","id":1,"result":{}}])",
      R"({"jsonrpc":"2.0","id":99,"result":{}})",
      R"({"jsonrpc":"2.0","id":"1","result":{}})",
      R"({"jsonrpc":"2.0","id":1,"result":[]})",
  };
  for (const std::string& line : all) {
    preface_ = line + "\n";
    talk();
    EXPECT_TRUE(is_over_) << line;
    EXPECT_EQ(reason(), "tool.output") << line;
  }
}

TEST_F(McpDialogues, ARepeatedAnswerEndsTheDialogue) {
  preface_ = response(1, hello("2025-11-25")).dump() + "\n";
  talk();
  EXPECT_EQ(reason(), "tool.output");
  EXPECT_THAT(outcome_.error().message, HasSubstr("answered before"));
}

// Limit: kMaxMcpTools of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, AnInvalidListOfToolsEndsTheDialogue) {
  for (const json& tools :
       {json(7), json::array({7}), json::array({{{"title", "x"}}}), json::array({kEcho, kEcho})}) {
    tools_ = tools;
    talk();
    EXPECT_EQ(reason(), "tool.output") << tools;
  }
  tools_ = json::array();
  for (size_t i = 0; i <= McpDialogue::kMaxMcpTools; ++i) {
    tools_.push_back({{"name", "t" + std::to_string(i)}});
  }
  talk();
  EXPECT_EQ(reason(), "limit.mcp_tools");
}

// Limit: kMaxListPages of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, TooManyPagesOfAListAreAnError) {
  McpDialogue dialogue(errand_);
  std::string said = dialogue.begin();
  size_t pages = 0;
  while (!said.empty()) {
    std::string back;
    for (const json& message : messages(said)) {
      if (message["method"] != "tools/list") {
        if (message.contains("id")) back += answer(message).dump() + "\n";
        continue;
      }
      ++pages;
      const std::string next = "more " + std::to_string(pages);
      back += response(message["id"], {{"tools", json::array()}, {"nextCursor", next}}).dump();
      back += "\n";
    }
    said = dialogue.take(back);
  }
  EXPECT_EQ(pages, McpDialogue::kMaxListPages);
  EXPECT_EQ(dialogue.outcome().error().reason, "tool.output");
}

TEST_F(McpDialogues, AllPagesOfAListAreRead) {
  const json first = {{"tools", {kEcho}}, {"nextCursor", "b"}};
  const json last = {{"tools", {{{"name", "c"}}}}, {"nextCursor", nullptr}};
  // The cursor of the last page may be empty.
  for (const std::string cursor : {"c", ""}) {
    cursors_.clear();
    pages_ = {{nullptr, first},
              {"b", {{"tools", {{{"name", "b"}}}}, {"nextCursor", cursor}}},
              {cursor, last}};
    talk();
    ASSERT_TRUE(outcome_) << outcome_.error().message;
    EXPECT_EQ(cursors_, (std::vector<json>{nullptr, "b", cursor}));
    EXPECT_EQ(outcome_->definitions, (std::vector<json>{{{"name", "b"}}, {{"name", "c"}}, kEcho}));
  }
}

TEST_F(McpDialogues, AnEmptyCursorMayMeanTheEndOfAList) {
  const json page = {{"tools", {kEcho, {{"name", "b"}, {"_meta", {{"a", 1}}}}}},
                     {"nextCursor", ""}};
  const json none = {{"tools", json::array()}, {"nextCursor", ""}};
  // The server refuses it, begins again, or has no more tools.
  for (const std::map<json, json>& pages : std::vector<std::map<json, json>>{
           {{nullptr, page}}, {{nullptr, page}, {"", page}}, {{nullptr, page}, {"", none}}}) {
    pages_ = pages;
    talk();
    ASSERT_TRUE(outcome_) << outcome_.error().message;
    EXPECT_EQ(outcome_->definitions.size(), 2U);
  }
  // Servers refuse it with any code. Those with new cursors begin again, too.
  pages_ = {{nullptr, page}};
  for (const int code : {-32603, -32600, 0}) {
    refusal_ = code;
    talk();
    ASSERT_TRUE(outcome_) << code << outcome_.error().message;
  }
  json again = page;
  again["nextCursor"] = "r3";
  pages_ = {{nullptr, page}, {"", again}};
  talk();
  ASSERT_TRUE(outcome_) << outcome_.error().message;
  EXPECT_EQ(outcome_->definitions.size(), 2U);
}

TEST_F(McpDialogues, ACursorThatComesTwiceEndsTheDialogue) {
  const auto page = [](const char* name, const json& next) {
    return json{{"tools", {{{"name", name}}}}, {"nextCursor", next}};
  };
  pages_ = {{nullptr, page("a", "")}, {"", {{"tools", json::array()}, {"nextCursor", "c"}}}};
  talk();
  EXPECT_EQ(cursors_, (std::vector<json>{nullptr, "", "c"})) << "an empty page is not the end";
  cursors_.clear();
  for (const std::string cursor : {"x", ""}) {
    pages_ = {{nullptr, page("a", cursor)}, {cursor, page("b", cursor)}};
    talk();
    EXPECT_EQ(reason(), "tool.output");
    EXPECT_THAT(outcome_.error().message, HasSubstr("'" + cursor + "' twice"));
    EXPECT_EQ(cursors_.size(), 2U);
    cursors_.clear();
  }
  pages_ = {{nullptr, page("a", 7)}};
  talk();
  EXPECT_THAT(outcome_.error().message, HasSubstr("not text"));
}

// Limit: kMaxMcpMessageBytes of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, AMessageThatNeverEndsIsAnError) {
  McpDialogue dialogue(errand_);
  (void)dialogue.begin();
  const std::string piece(size_t{1} << 20U, 'x');
  size_t taken = 0;
  while (!dialogue.is_over()) {
    (void)dialogue.take(piece);
    ASSERT_LE(++taken, 9U);
  }
  EXPECT_EQ(dialogue.outcome().error().reason, "limit.tool_output");
}

// Limit: kMaxMcpDialogueBytes of tools/mcp/mcp_dialogue.h
TEST_F(McpDialogues, TooManyBytesOfMessagesAreAnError) {
  McpDialogue dialogue(errand_);
  (void)dialogue.begin();
  const std::string note = R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"x":")" +
                           std::string(100'000, 'x') + "\"}}\n";
  size_t taken = 0;
  while (!dialogue.is_over()) {
    (void)dialogue.take(note);
    ASSERT_LE(++taken, 200U);
  }
  EXPECT_EQ(dialogue.outcome().error().reason, "limit.tool_output");
}

TEST_F(McpDialogues, AnInvalidResultOfACallEndsTheDialogue) {
  for (const json& result : {json::object(), json({{"content", 7}}), json({{"content", {7}}}),
                             json({{"content", json::array({json::object()})}})}) {
    result_ = result;
    talk();
    EXPECT_EQ(reason(), "tool.output") << result;
  }
  result_ = {{"resultType", "input_required"}, {"inputRequests", json::object()}};
  talk();
  EXPECT_EQ(reason(), "tool.failed");
}

TEST_F(McpDialogues, AnEarlyEndOfTheServerNamesTheMissingAnswer) {
  McpDialogue dialogue(errand_);
  (void)dialogue.begin();
  EXPECT_FALSE(dialogue.is_over());
  EXPECT_EQ(dialogue.outcome().error().reason, "tool.output");
  EXPECT_THAT(dialogue.outcome().error().message, HasSubstr("handshake"));
}

}  // namespace
}  // namespace galley
