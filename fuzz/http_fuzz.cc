// Reads any bytes as a request to `galley review`. Reading ends. A complete request is incomplete
// without its last byte, and is refused with one more byte.
#include <algorithm>
#include <string_view>

#include "base/result.h"
#include "cli/http.h"

namespace galley {
namespace {

void check_whole(std::string_view bytes, const HttpRequest& request) {
  GALLEY_CHECK(request.target.starts_with('/'));
  GALLEY_CHECK(bytes.ends_with(request.body));
  GALLEY_CHECK(request.body.size() <= kMaxHttpBodyBytes);
  const HttpParse shorter = parse_http(bytes.substr(0, bytes.size() - 1));
  GALLEY_CHECK(!shorter.request && shorter.status == 0);
  const HttpParse longer = parse_http(std::string(bytes) + "x");
  GALLEY_CHECK(!longer.request && longer.status != 0);
  for (const auto& [name, value] : request.headers) {
    GALLEY_CHECK(request.header(name) == value);
    const auto is_line_end = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
    GALLEY_CHECK(std::none_of(value.begin(), value.end(), is_line_end));
  }
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const galley::HttpParse parse = galley::parse_http(bytes);
  GALLEY_CHECK(!parse.request || parse.status == 0);
  if (parse.request) galley::check_whole(bytes, *parse.request);
  return 0;
}
