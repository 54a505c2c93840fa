#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

inline constexpr size_t kMaxHttpHeadBytes = size_t{16} << 10U;
inline constexpr size_t kMaxHttpBodyBytes = size_t{8} << 20U;

/// A request to `galley review`.
struct HttpRequest {
  std::string method;
  std::string target;                          ///< path and query, as it was sent
  std::map<std::string, std::string> headers;  ///< names in lower case; none twice
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// What the bytes that came so far are.
struct HttpParse {
  std::optional<HttpRequest> request;  ///< whole
  int status = 0;                      ///< not 0: no request will come of it, and why
};

/// Reads an HTTP/1.1 request (RFC 9112) with a Content-Length or without a body. All that a browser
/// does not send to a page of ours is refused: another version, encodings of transfer, a header
/// twice, a line that goes on below.
[[nodiscard]] HttpParse parse_http(std::string_view bytes);

/// The bytes of an answer after which the connection is closed.
[[nodiscard]] std::string http_text(const HttpResponse& response);

}  // namespace galley
