#include "server/http/http.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace galley {
namespace {

constexpr int kBadRequest = 400;
constexpr int kLengthRequired = 411;
constexpr int kTooLarge = 413;
constexpr std::string_view kTokenLetters =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A client that sends `Expect: 100-continue` waits for this line.
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

HttpParse refused(int status) { return {std::nullopt, status}; }

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// METHOD TARGET HTTP/1.1
bool read_first_line(std::string_view line, HttpRequest& request) {
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  if (first == std::string_view::npos || first == second) return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  return line.substr(second + 1) == "HTTP/1.1" && request.target.starts_with('/') &&
         is_visible(request.target) &&
         request.method.find_first_not_of(kTokenLetters) == std::string::npos;
}

bool read_header(std::string_view line, HttpRequest& request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string name = to_lower(line.substr(0, colon));
  if (name.find_first_not_of(kTokenLetters) != std::string::npos) return false;
  const std::string_view value = trim(line.substr(colon + 1), kSpaceAndTab);
  const bool is_clean = std::none_of(value.begin(), value.end(), [](char c) {
    return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f;
  });
  return is_clean && request.headers.emplace(name, value).second;
}

bool read_head(std::string_view head, HttpRequest& request) {
  bool is_first = true;
  while (!head.empty()) {
    const size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    if (!(is_first ? read_first_line(line, request) : read_header(line, request))) return false;
    is_first = false;
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return !is_first;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 303:
      return "See Other";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case kLengthRequired:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Request";
  }
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

HttpParse parse_http(std::string_view bytes, const HttpRules& rules) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t end = bytes.substr(0, kMaxHttpHeadBytes).find(kEnd);
  if (end == std::string_view::npos) {
    return bytes.size() < kMaxHttpHeadBytes ? HttpParse{{}, 0, 1} : refused(kTooLarge);
  }
  HttpRequest request;
  if (!read_head(bytes.substr(0, end), request)) return refused(kBadRequest);
  if (request.headers.count("transfer-encoding") != 0) return refused(kLengthRequired);
  const std::string length = request.header("content-length");
  size_t size = 0;
  if (!length.empty()) {
    const auto [rest, code] = std::from_chars(length.data(), length.data() + length.size(), size);
    if (code == std::errc::result_out_of_range) return refused(kTooLarge);
    if (code != std::errc() || rest != length.data() + length.size()) return refused(kBadRequest);
  }
  if (size > rules.max_body_bytes) return refused(kTooLarge);
  const std::string_view body = bytes.substr(end + kEnd.size());
  const bool expects = to_lower(request.header("expect")) == "100-continue" && body.empty();
  const bool is_unknown = expects || size > kMaxUnknownBodyBytes;
  const bool is_awaited = !is_unknown || !rules.admits || rules.admits(request);
  if (!is_awaited) return {std::move(request), 0};
  if (body.size() < size) return {{}, 0, size - body.size(), expects ? kContinue : ""};
  if (body.size() > size) return refused(kBadRequest);  // the client must wait for our answer
  request.body = body;
  return {std::move(request), 0};
}

namespace {

std::string head_text(const HttpResponse& response) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " ";
  text += reason_of(response.status);
  text += "\r\nContent-Type: " + response.type +
          "; charset=utf-8\r\nConnection: close\r\nCache-Control: no-store\r\n"
          "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
          "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n";
  for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
  return text;
}

}  // namespace

std::string http_text(const HttpResponse& response) {
  return head_text(response) + "Content-Length: " + std::to_string(response.body.size()) +
         "\r\n\r\n" + response.body;
}

std::string http_stream_head(const HttpResponse& response) { return head_text(response) + "\r\n"; }

bool HttpHost::is_meant_by(const HttpRequest& request) const {
  const std::string host = request.header("host");
  const std::string origin = request.header("origin");
  if (name.empty()) return origin.empty();
  const auto is_ours = [this](std::string_view given) {
    return given == name || (!alias.empty() && given == alias);
  };
  constexpr std::string_view kScheme = "http://";
  return is_ours(host) &&
         (origin.empty() || (origin.starts_with(kScheme) &&
                             is_ours(std::string_view(origin).substr(kScheme.size()))));
}

}  // namespace galley
