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
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\nab"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: b\x01\r\n\r\n"), 400);
}

constexpr std::string_view kChunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";

TEST(Http, AChunkedBodyIsReadOnlyWhenItIsComplete) {
  const std::string text = std::string(kChunked) +
                           "3\r\nabc\r\n00A ; x=\"y;z\"\r\n\r\n34567890\r\n0\r\nTrailer: t\r\n\r\n";
  for (size_t size = 0; size < text.size(); ++size) {
    const HttpParse part = parsed(std::string_view(text).substr(0, size));
    EXPECT_FALSE(part.request) << size;
    EXPECT_EQ(part.status, 0) << size;
    EXPECT_GT(part.missing, 0U) << size;
    EXPECT_LE(part.missing, text.size() - size) << size;
  }
  const HttpParse whole = parsed(text);
  ASSERT_TRUE(whole.request);
  EXPECT_EQ(whole.request->body, "abc\r\n34567890");
  EXPECT_EQ(whole.request->header("trailer"), "");
  EXPECT_EQ(status_of(text + "x"), 400);
  const HttpParse empty = parsed(std::string(kChunked) + "0\r\n\r\n");
  ASSERT_TRUE(empty.request);
  EXPECT_EQ(empty.request->body, "");
}

TEST(Http, AWrongChunkIsRefused) {
  for (const std::string wrong :
       {"\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1 1\r\n", "1\n;\r\n",
        "1;\n\r\n", "1;\r;\r\n", "1\r\nab\r\n", "1\r\na\nb", "1\r\na0\r\n\r\n", "0\r\nA: b\n\r\n",
        "0\r\nA: \x01\r\n"}) {
    EXPECT_EQ(status_of(std::string(kChunked) + wrong), 400) << wrong;
  }
}

TEST(Http, TheLengthOfABodyIsStatedInOneWay) {
  const auto status = [](const std::string& fields) {
    return status_of("POST / HTTP/1.1\r\n" + fields + "\r\n0\r\n\r\n");
  };
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nContent-Length:\r\n"), 400);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, chunked", "identity", ""}) {
    EXPECT_EQ(status("Transfer-Encoding: " + std::string(coding) + "\r\n"), 501) << coding;
  }
}

// Limit: kMaxChunkFramingBytes of server/http/http.h
TEST(Http, AChunkedBodyIsBounded) {
  const std::string head(kChunked);
  const auto is_awaited = [](const std::string& bytes) {
    const HttpParse parse = parsed(bytes);
    return !parse.request && parse.status == 0;
  };
  EXPECT_TRUE(is_awaited(head + "3e8\r\n"));
  EXPECT_EQ(status_of(head + "3e9\r\n"), 413);
  EXPECT_EQ(status_of(head + "1\r\na\r\n3e8\r\n"), 413);
  EXPECT_EQ(status_of(head + "ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(head + "1\r\na\r\nffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(head + std::string(30, 'f') + "\r\n"), 413);
  const std::string most(kMaxChunkFramingBytes - 20, 'x');
  for (const std::string start : {"1;", "1\r\na\r\n0\r\nA:", "0\r\nA: b\r\nB:"}) {
    EXPECT_TRUE(is_awaited(head + start)) << start;
    EXPECT_EQ(status_of(head + start + most + std::string(25, 'x')), 413) << start;
  }
  EXPECT_TRUE(is_awaited(head + "1;" + most));
  std::string many = head;
  while (many.size() < head.size() + 3 * kMaxChunkFramingBytes) many += "1\r\na\r\n";
  EXPECT_EQ(parse_http(many, {many.size(), {}}).status, 413);
}

TEST(Http, AChunkedBodyIsNotWaitedForIfTheHeadIsRefused) {
  const HttpParse refused =
      parse_http(kChunked, {kMaxBody, [](const HttpRequest&) { return false; }});
  ASSERT_TRUE(refused.request);
  EXPECT_EQ(refused.request->body, "");
  const std::string expecting =
      "POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(parsed(expecting).interim, "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(parsed(expecting + "1").interim, "");
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

TEST(Http, AFieldOnTwoLinesIsOneListIfItMayBe) {
  const auto parse = [](const std::string& fields) {
    return parsed("GET / HTTP/1.1\r\n" + fields + "\r\n");
  };
  const HttpParse joined = parse(
      "Accept: a/b\r\nCookie: a=1\r\nVia: 1.1 x\r\naccept: c/d;q=0.1\r\nCOOKIE: b=2\r\nVia: 1.1 "
      "y\r\n");
  ASSERT_TRUE(joined.request);
  EXPECT_EQ(joined.request->header("accept"), "a/b, c/d;q=0.1");
  EXPECT_EQ(joined.request->header("cookie"), "a=1; b=2");
  EXPECT_EQ(joined.request->header("via"), "1.1 x, 1.1 y");
  for (const char* name :
       {"Host", "Content-Length", "Transfer-Encoding", "Authorization", "Content-Type", "Origin",
        "Mcp-Session-Id", "MCP-Protocol-Version", "Last-Event-ID"}) {
    const std::string field = std::string(name) + ": 0\r\n";
    EXPECT_EQ(parse(field + "Accept: a/b\r\n" + field).status, 400) << name;
  }
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
