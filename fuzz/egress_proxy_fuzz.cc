// Reads any bytes as a request of a command to its proxy. A parsed request names one host, which
// the list of hosts can judge, and its first bytes have no field for a proxy.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/sandbox/egress_proxy.h"

using galley::is_allowed_host;
using galley::parse_allowed_host;
using galley::parse_proxy_request;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) return 0;
  const auto request = parse_proxy_request(bytes.substr(0, end + 2), bytes.substr(end + 4));
  if (!request) return 0;
  GALLEY_CHECK(request->port != 0);
  const bool is_v6 = request->host.find(':') != request->host.npos;
  const std::string host = is_v6 ? "[" + request->host + "]" : request->host;
  const auto allowed = parse_allowed_host(host + ":" + std::to_string(request->port));
  GALLEY_CHECK(allowed.has_value());
  GALLEY_CHECK(is_allowed_host({*allowed}, request->host, request->port));
  GALLEY_CHECK(!is_allowed_host({*allowed}, "x" + request->host, request->port));
  if (request->is_tunnel) {
    GALLEY_CHECK(request->first == bytes.substr(end + 4));
  } else {
    GALLEY_CHECK(request->first.find("\r\nConnection: close\r\n\r\n") != std::string::npos);
  }
  return 0;
}
