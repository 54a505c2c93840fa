#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// Hosts that a command without the host's network may reach.
struct AllowedHost {
  std::string name;               ///< lower case: a name, or an address without brackets
  bool matches_children = false;  ///< `*.name`: the names below it, but not itself
  uint16_t port = 0;              ///< 0: 80 and 443
};

/// Maximum number of AllowedHost of one command.
inline constexpr size_t kMaxAllowedHosts = 64;

/// Parses `HOST`, `*.HOST` or `HOST:PORT`. HOST is a name or an address; an IPv6 address is in
/// brackets.
/// Errors: kUsage `command.host`.
[[nodiscard]] Result<AllowedHost> parse_allowed_host(std::string_view text);
/// Errors: as parse_allowed_host(), and for more than kMaxAllowedHosts.
[[nodiscard]] Result<std::vector<AllowedHost>> parse_allowed_hosts(
    const std::vector<std::string>& texts);

/// Returns whether one of `allowed` is `host` with this port. Case and a final dot do not count.
[[nodiscard]] bool is_allowed_host(const std::vector<AllowedHost>& allowed, std::string_view host,
                                   uint16_t port);

/// A request to a proxy: the host, and the first bytes for it.
struct ProxyRequest {
  std::string host;  ///< lower case, without brackets and final dot
  uint16_t port = 0;
  bool is_tunnel = false;  ///< CONNECT
  std::string first;
};

/// Parses the head of a request, with all its line ends but the last, and what came after it
/// (RFC 9112, 3.2.2 and 3.2.3). Fields for a proxy are left out of `first`. Returns nothing for
/// anything else.
[[nodiscard]] std::optional<ProxyRequest> parse_proxy_request(std::string_view head,
                                                              std::string_view after);

/// An HTTP proxy between a command's private network and a few hosts. It takes what
/// parse_proxy_request() reads. The command has no other way out: its
/// network has only a loopback device, on which pid 1 listens for this object.
///
/// A name that leads to a loopback or link-local address is refused, so an allowed name cannot be
/// pointed at services of this machine. `localhost` and an address as HOST may.
///
/// Ownership: owns its threads and sockets. The destructor ends all connections.
/// Threads:   all members may be called from any thread.
class EgressProxy {
 public:
  /// Errors: kIo when the system has no sockets or threads left.
  static Result<std::unique_ptr<EgressProxy>> start(std::vector<AllowedHost> allowed);
  virtual ~EgressProxy() = default;
  /// The socket for pid 1, which sends its listening socket over it. It is open until
  /// close_inner_end().
  [[nodiscard]] virtual int inner_end() const = 0;
  virtual void close_inner_end() = 0;
  /// Returns the refused hosts as `host:port`, each once, in the order of their requests.
  [[nodiscard]] virtual std::vector<std::string> refused() const = 0;
};

/// The variables that name the proxy for a command. Programs ask it for names of this machine only
/// if they are allowed in `hosts`: the command has a loopback of its own.
[[nodiscard]] std::map<std::string, std::string> proxy_environment(
    const std::vector<std::string>& hosts);

/// Returns a sentence about a refused host, for people.
[[nodiscard]] std::string refused_host_text(std::string_view host_and_port);

}  // namespace galley
