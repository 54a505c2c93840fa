#include "cli/http.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

constexpr std::string_view kHost = "Host: 127.0.0.1:80\r\n";

int status_of(const std::string& bytes) { return parse_http(bytes).status; }

TEST(Http, ARequestIsReadOnlyWhenItIsComplete) {
  const std::string text = "POST /keep HTTP/1.1\r\nHost:  h \r\nContent-Length: 3\r\n\r\nabc";
  for (size_t size = 0; size < text.size(); ++size) {
    const HttpParse part = parse_http(std::string_view(text).substr(0, size));
    EXPECT_FALSE(part.request) << size;
    EXPECT_EQ(part.status, 0) << size;
  }
  const HttpParse whole = parse_http(text);
  ASSERT_TRUE(whole.request);
  EXPECT_EQ(whole.request->method, "POST");
  EXPECT_EQ(whole.request->target, "/keep");
  EXPECT_EQ(whole.request->header("host"), "h");
  EXPECT_EQ(whole.request->body, "abc");
}

TEST(Http, RequestsThatBrowsersDoNotSendAreRefused) {
  const std::string host(kHost);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(status_of("GET http://h/ HTTP/1.1\r\n" + host + "\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + host + host + "\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA b: c\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: b\x01\r\n\r\n"), 400);
}

// Limit: kMaxHttpBodyBytes of cli/http.h
// Limit: kMaxHttpHeadBytes of cli/http.h
TEST(Http, HeadAndBodyAreBounded) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(kMaxHttpHeadBytes, 'x')), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: " + std::to_string(kMaxHttpBodyBytes + 1) +
                      "\r\n\r\n"),
            413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
}

}  // namespace
}  // namespace galley
