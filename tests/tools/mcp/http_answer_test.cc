#include "tools/mcp/http_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tools/mcp/mcp_dialogue.h"

namespace galley {
namespace {

constexpr std::string_view kEvents =
    "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n";

/// Feeds the text in pieces of this size, and returns all messages.
std::string messages_of(HttpAnswer& answer, std::string_view text, size_t piece = 4096) {
  std::string all;
  for (size_t at = 0; at < text.size(); at += piece) all += answer.take(text.substr(at, piece));
  return all + answer.end();
}

TEST(HttpAnswer, ADocumentIsOneMessageOnOneLine) {
  HttpAnswer answer;
  EXPECT_EQ(messages_of(answer,
                        "HTTP/2 200 \r\ncontent-type: application/json\r\nMcp-Session-Id:  a b \r\n"
                        "\r\n{\n \"a\": 1\r\n}\n",
                        1),
            "{  \"a\": 1\r } \n");
  EXPECT_EQ(answer.header("mcp-session-id"), "a b");
}

TEST(HttpAnswer, ItsHeadersAreFoundInLowerCaseWithoutBlanks) {
  HttpAnswer answer;
  EXPECT_EQ(answer.status(), 0);
  (void)messages_of(answer, "HTTP/1.1 307 Temporary Redirect\r\nLOCATION:\t https://b/ \r\n\r\n");
  EXPECT_EQ(answer.status(), 307);
  EXPECT_EQ(answer.header("location"), "https://b/");
  EXPECT_EQ(answer.header("x"), "");
}

TEST(HttpAnswer, AnInterimAnswerIsSkipped) {
  HttpAnswer answer;
  EXPECT_EQ(messages_of(answer,
                        "HTTP/1.1 100 Continue\r\nLocation: a\r\n\r\nHTTP/1.1 200 OK\r\n"
                        "Content-Type: application/json\r\n\r\n{}"),
            "{}\n");
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.header("location"), "");
}

TEST(HttpAnswer, EventsHaveEachKindOfLineEnd) {
  const std::string text =
      std::string(kEvents) +
      ": comment\n\nid: 1\r\ndata:\r\n\r\ndata: {\"a\":\rdata:1}\r\revent: message\n"
      "data: {}\n\nevent: other\ndata: {\"no\":1}\n\ndata: {\"cut\":1}\n";
  for (const size_t piece : {1U, 2U, 3U, 7U, 4096U}) {
    HttpAnswer answer;
    EXPECT_EQ(messages_of(answer, text, piece), "{\"a\": 1}\n{}\n") << piece;
  }
}

TEST(HttpAnswer, TheBodyOfARefusalIsKeptForPeopleAndBounded) {
  HttpAnswer answer;
  EXPECT_EQ(messages_of(answer, "HTTP/1.1 500 x\r\nContent-Type: application/json\r\n\r\n" +
                                    std::string(HttpAnswer::kMaxHttpTextBytes + 10, 'x')),
            "");
  EXPECT_EQ(answer.text().size(), HttpAnswer::kMaxHttpTextBytes);
}

// Limit: kMaxHttpTextBytes of tools/mcp/http_answer.h
TEST(HttpAnswer, OtherProtocolsAndEndlessHeadsAreGarbage) {
  for (const std::string& text :
       {std::string("SSH-2.0\r\n\r\n"), std::string("\r\n"), std::string("HTTP/1.1 2x0\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nA: " + std::string(HttpAnswer::kMaxHttpHeadBytes, 'x'),
        std::string("HTTP/1.1 200\r\n") + std::string(HttpAnswer::kMaxHttpHeadBytes, '\n')}) {
    HttpAnswer answer;
    (void)messages_of(answer, text);
    EXPECT_TRUE(answer.is_garbage() || answer.status() == 200) << text.substr(0, 20);
  }
  HttpAnswer endless;
  for (int i = 0; i < 10'000; ++i) (void)endless.take("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(endless.is_garbage());
}

TEST(HttpAnswer, AMessageBeyondTheLimitIsNotKept) {
  const std::string block(1U << 20U, 'x');
  for (const std::string& head :
       {std::string(kEvents) + "data: ",
        std::string("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")}) {
    HttpAnswer answer;
    (void)answer.take(head);
    for (size_t i = 0; i <= McpDialogue::kMaxMcpMessageBytes >> 20U; ++i) (void)answer.take(block);
    EXPECT_TRUE(answer.is_too_long());
    EXPECT_EQ(answer.end(), "");
  }
}

}  // namespace
}  // namespace galley
