#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

inline constexpr size_t kMaxHttpHeadBytes = size_t{16} << 10U;  ///< head of a request to the review
inline constexpr size_t kMaxHttpBodyBytes = size_t{8} << 20U;   ///< body of a request to the review

/// A request to `galley review`.
struct HttpRequest {
  std::string method;
  std::string target;                          ///< path and query, as received
  std::map<std::string, std::string> headers;  ///< names in lower case, unique
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The result of parsing the bytes that were received so far.
struct HttpParse {
  std::optional<HttpRequest> request;  ///< complete
  int status = 0;                      ///< not 0: the request is invalid; the status to send
};

/// Reads an HTTP/1.1 request (RFC 9112) with a Content-Length or without a body. It refuses
/// everything that a browser does not send to our page: other versions, transfer encodings,
/// repeated headers, folded lines.
[[nodiscard]] HttpParse parse_http(std::string_view bytes);

/// Returns the bytes of a response. The connection is closed after it.
[[nodiscard]] std::string http_text(const HttpResponse& response);

}  // namespace galley
