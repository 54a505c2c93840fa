#include "server/http/http.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace galley {
namespace {

constexpr int kBadRequest = 400;
constexpr int kTooLarge = 413;
constexpr int kNotImplemented = 501;
constexpr std::string_view kLineEnd = "\r\n";
constexpr const char* kNotHttp = "this is not a request of HTTP/1.1";
constexpr const char* kBadChunk = "a chunk of the body is not one of HTTP/1.1";
constexpr std::string_view kTokenLetters =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A client that sends `Expect: 100-continue` waits for this line.
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

HttpParse refused(int status, std::string why = kNotHttp) {
  return {std::nullopt, status, 0, {}, std::move(why)};
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// Whether a line has no control character except tabs.
bool is_clean(std::string_view line) {
  return std::none_of(line.begin(), line.end(),
                      [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; });
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

/// Fields with one value, which must not be joined to a list.
bool is_single(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {
      "host",   "content-length", "transfer-encoding",    "authorization", "content-type",
      "origin", "mcp-session-id", "mcp-protocol-version", "last-event-id"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Adds a field. Lines of one name are one list (RFC 9110 5.3). Returns what is wrong, or "".
std::string read_header(std::string_view line, HttpRequest& request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return kNotHttp;
  const std::string name = to_lower(line.substr(0, colon));
  if (name.find_first_not_of(kTokenLetters) != std::string::npos) return kNotHttp;
  const std::string_view value = trim(line.substr(colon + 1), kSpaceAndTab);
  if (!is_clean(value)) return kNotHttp;
  const auto [field, is_new] = request.headers.emplace(name, value);
  if (is_new) return "";
  if (is_single(name)) return "the field '" + name + "' is there twice";
  field->second.append(name == "cookie" ? "; " : ", ").append(value);
  return "";
}

/// Returns what is wrong, or "".
std::string read_head(std::string_view head, HttpRequest& request) {
  const size_t end = std::min(head.find(kLineEnd), head.size());
  if (!read_first_line(head.substr(0, end), request)) return kNotHttp;
  while (true) {
    head.remove_prefix(std::min(head.find(kLineEnd), head.size()));
    if (head.empty()) return "";
    head.remove_prefix(kLineEnd.size());
    const std::string_view line = head.substr(0, head.find(kLineEnd));
    if (std::string wrong = read_header(line, request); !wrong.empty()) return wrong;
  }
}

/// Reads the size of a body or a chunk. Returns the status to send if it is not one; else 0.
int read_size(std::string_view text, int base, size_t& size) {
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (code == std::errc::result_out_of_range) return kTooLarge;
  return code == std::errc() && rest == text.data() + text.size() ? 0 : kBadRequest;
}

/// Takes a line of a chunked body from `rest`. Returns a result if there is none.
std::optional<HttpParse> take_line(std::string_view& rest, size_t& framing,
                                   std::string_view& line) {
  const size_t end = rest.substr(0, framing).find(kLineEnd);
  if (end == std::string_view::npos) {
    return rest.size() < framing ? HttpParse{{}, 0, 1} : refused(kTooLarge);
  }
  line = rest.substr(0, end);
  rest.remove_prefix(end + kLineEnd.size());
  framing -= end + kLineEnd.size();
  return is_clean(line) ? std::nullopt : std::optional(refused(kBadRequest, kBadChunk));
}

/// Reads a chunked body (RFC 9112 7.1). Ignores extensions and trailers. The result has neither a
/// status nor missing bytes if `body` is complete.
HttpParse read_chunks(std::string_view rest, size_t max_bytes, std::string& body) {
  constexpr std::string_view kLastChunk = "0\r\n\r\n";
  size_t framing = kMaxChunkFramingBytes;
  std::vector<std::string_view> chunks;
  std::string_view line;
  size_t total = 0;
  while (true) {
    if (auto early = take_line(rest, framing, line)) return *std::move(early);
    const size_t digits = std::min(line.find_first_of(" \t;"), line.size());
    size_t size = 0;
    if (const int status = read_size(line.substr(0, digits), 16, size); status != 0) {
      return refused(status, kBadChunk);
    }
    const std::string_view extension = trim(line.substr(digits), kSpaceAndTab);
    if (digits < line.size() && !extension.starts_with(';')) return refused(kBadRequest, kBadChunk);
    if (size == 0) break;
    if (size > max_bytes - total) return refused(kTooLarge);
    const size_t needed = size + kLineEnd.size();
    if (rest.size() < needed) return {{}, 0, needed - rest.size() + kLastChunk.size()};
    if (rest.substr(size, kLineEnd.size()) != kLineEnd) return refused(kBadRequest, kBadChunk);
    chunks.push_back(rest.substr(0, size));
    rest.remove_prefix(needed);
    total += size;
  }
  do {
    if (auto early = take_line(rest, framing, line)) return *std::move(early);
  } while (!line.empty());
  if (!rest.empty()) return refused(kBadRequest);  // the client must wait for our answer
  body.reserve(total);
  for (const std::string_view chunk : chunks) body += chunk;
  return {};
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
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 500:
      return "Internal Server Error";
    case kNotImplemented:
      return "Not Implemented";
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

std::string media_type(std::string_view text) {
  return to_lower(trim(text.substr(0, text.find(';')), kSpaceAndTab));
}

HttpParse parse_http(std::string_view bytes, const HttpRules& rules) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const size_t end = bytes.substr(0, kMaxHttpHeadBytes).find(kEnd);
  if (end == std::string_view::npos) {
    return bytes.size() < kMaxHttpHeadBytes ? HttpParse{{}, 0, 1} : refused(kTooLarge);
  }
  HttpRequest request;
  if (std::string wrong = read_head(bytes.substr(0, end), request); !wrong.empty()) {
    return refused(kBadRequest, std::move(wrong));
  }
  const bool is_chunked = request.headers.contains("transfer-encoding");
  if (is_chunked && request.headers.contains("content-length")) {
    return refused(kBadRequest, "a request has Content-Length or Transfer-Encoding, not both");
  }
  if (is_chunked && to_lower(request.header("transfer-encoding")) != "chunked") {
    return refused(kNotImplemented, "the only Transfer-Encoding that is read is chunked");
  }
  size_t size = 0;
  if (const std::string length = request.header("content-length"); !length.empty()) {
    if (const int status = read_size(length, 10, size); status != 0) return refused(status);
  }
  if (size > rules.max_body_bytes) return refused(kTooLarge);
  const std::string_view body = bytes.substr(end + kEnd.size());
  const bool expects = to_lower(request.header("expect")) == "100-continue" && body.empty();
  const bool is_unknown = expects || is_chunked || size > kMaxUnknownBodyBytes;
  const bool is_awaited = !is_unknown || !rules.admits || rules.admits(request);
  if (!is_awaited) return {std::move(request), 0};
  if (is_chunked) {
    HttpParse chunked = read_chunks(body, rules.max_body_bytes, request.body);
    if (expects) chunked.interim = kContinue;
    if (chunked.status != 0 || chunked.missing > 0) return chunked;
    return {std::move(request), 0};
  }
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
