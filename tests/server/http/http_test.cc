#include "server/http/http.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

constexpr std::string_view kHost = "Host: 127.0.0.1:80\r\n";

constexpr size_t kMaxBody = 1'000;

HttpParse parsed(std::string_view bytes) { return parse_http(bytes, {kMaxBody, {}}); }

int status_of(const std::string& bytes) { return parsed(bytes).status; }

TEST(Http, ARequestIsReadOnlyWhenItIsComplete) {
  const std::string text = "POST /keep HTTP/1.1\r\nHost:  h \r\nContent-Length: 3\r\n\r\nabc";
  for (size_t size = 0; size < text.size(); ++size) {
    const HttpParse part = parsed(std::string_view(text).substr(0, size));
    EXPECT_FALSE(part.request) << size;
    EXPECT_EQ(part.status, 0) << size;
  }
  const HttpParse whole = parsed(text);
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
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: b\x01\r\n\r\n"), 400);
}

// Limit: kMaxHttpHeadBytes of server/http/http.h
TEST(Http, HeadAndBodyAreBounded) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(kMaxHttpHeadBytes, 'x')), 413);
  EXPECT_EQ(
      status_of("GET / HTTP/1.1\r\nContent-Length: " + std::to_string(kMaxBody + 1) + "\r\n\r\n"),
      413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
}

// Limit: kMaxUnknownBodyBytes of server/http/http.h
TEST(Http, ALargeBodyIsNotWaitedForIfTheHeadIsRefused) {
  const auto head = [](size_t size) {
    return "POST / HTTP/1.1\r\nToken: x\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  };
  HttpRules rules{size_t{1} << 20U,
                  [](const HttpRequest& request) { return request.header("token") == "right"; }};
  EXPECT_FALSE(parse_http(head(kMaxUnknownBodyBytes), rules).request);
  const HttpParse refused = parse_http(head(kMaxUnknownBodyBytes + 1), rules);
  ASSERT_TRUE(refused.request);
  EXPECT_EQ(refused.request->body, "");
  rules.admits = [](const HttpRequest&) { return true; };
  EXPECT_FALSE(parse_http(head(kMaxUnknownBodyBytes + 1), rules).request);
}

TEST(Http, WhatAPartLacksIsKnownFromItsHead) {
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\n").missing, 1U);
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab").missing, 3U);
  EXPECT_EQ(parsed("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab").missing, 0U);
  EXPECT_EQ(parsed("POST / HTTP/9\r\n\r\n").missing, 0U);
}

TEST(Http, AClientThatWaitsWithItsBodyIsToldToContinue) {
  const std::string head = "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(parsed(head).interim, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(parsed(head + "a").interim, "");
  const HttpParse whole = parsed(head + "abcde");
  ASSERT_TRUE(whole.request);
  EXPECT_EQ(whole.request->body, "abcde");
  // A client that may not send it gets the answer at once.
  const HttpParse refused = parse_http(head, {kMaxBody, [](const HttpRequest&) { return false; }});
  EXPECT_TRUE(refused.request);
  EXPECT_EQ(refused.interim, "");
}

TEST(Http, HostAndOriginNameTheServer) {
  const auto is_meant = [](const HttpHost& host, const std::string& headers) {
    return host.is_meant_by(*parsed("GET / HTTP/1.1\r\n" + headers + "\r\n").request);
  };
  const HttpHost host{"127.0.0.1:80", "localhost:80"};
  EXPECT_TRUE(is_meant(host, "Host: 127.0.0.1:80\r\n"));
  EXPECT_TRUE(is_meant(host, "Host: localhost:80\r\nOrigin: http://localhost:80\r\n"));
  for (const char* wrong : {"", "Host: evil.example:80\r\n", "Host: 127.0.0.1\r\n",
                            "Host: 127.0.0.1:81\r\n", "Host: 127.0.0.1:80\r\nOrigin: null\r\n",
                            "Host: 127.0.0.1:80\r\nOrigin: https://127.0.0.1:80\r\n",
                            "Host: 127.0.0.1:80\r\nOrigin: http://evil.example\r\n"}) {
    EXPECT_FALSE(is_meant(host, wrong)) << wrong;
  }
  EXPECT_FALSE(is_meant({"127.0.0.1:80"}, "Host: localhost:80\r\n"));
  EXPECT_TRUE(is_meant({""}, "Host: anything\r\n"));
  EXPECT_FALSE(is_meant({""}, "Host: anything\r\nOrigin: http://anything\r\n"));
}

}  // namespace
}  // namespace galley
