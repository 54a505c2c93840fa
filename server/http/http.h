#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

inline constexpr size_t kMaxHttpHeadBytes = size_t{16} << 10U;  ///< head of a request
/// Body of a request whose sender is not known to have the right to send it.
inline constexpr size_t kMaxUnknownBodyBytes = size_t{64} << 10U;
/// Of one chunked body: the lines with the sizes of its chunks, and its trailers.
inline constexpr size_t kMaxChunkFramingBytes = size_t{64} << 10U;

/// A request to a server of Galley.
struct HttpRequest {
  std::string method;
  std::string target;                          ///< path and query, as received
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;
};

/// Returns the type of Content-Type or of an element of Accept, in lower case: "text/html".
[[nodiscard]] std::string media_type(std::string_view text);

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// What a server accepts.
struct HttpRules {
  size_t max_body_bytes = 0;
  /// Whether the server will answer the request with this head. If not, a body that is chunked or
  /// above kMaxUnknownBodyBytes is not waited for.
  std::function<bool(const HttpRequest& head)> admits;
};

/// The result of parsing the bytes that were received so far.
struct HttpParse {
  std::optional<HttpRequest> request;  ///< complete; without its body if that is not waited for
  int status = 0;                      ///< not 0: the request is invalid; the status to send
  size_t missing = 0;                  ///< bytes that a valid request lacks at least
  /// To send at once, because the client waits for it with its body; may be empty.
  std::string_view interim = {};
  std::string why = {};  ///< of an invalid request
};

/// Reads an HTTP/1.1 request (RFC 9112) with a Content-Length, a chunked body or none. It refuses
/// everything that a browser or a client of our servers does not send: other versions and transfer
/// encodings, repeated fields that are not lists, folded lines.
[[nodiscard]] HttpParse parse_http(std::string_view bytes, const HttpRules& rules);

/// Returns the bytes of a response. The connection is closed after it.
[[nodiscard]] std::string http_text(const HttpResponse& response);
/// Returns the head of a response with `type` whose body ends with the connection.
[[nodiscard]] std::string http_stream_head(const HttpResponse& response);

/// What a server on this machine requires of the head of a request, so that pages of other sites
/// cannot use it, also if their names lead to this machine (DNS rebinding).
struct HttpHost {
  std::string name;        ///< "127.0.0.1:80"; empty: a socket file, which no page can reach
  std::string alias = {};  ///< another name for it, such as "localhost:80"

  /// Whether Host and Origin name this server.
  [[nodiscard]] bool is_meant_by(const HttpRequest& request) const;
};

}  // namespace galley
