#include "staging/sandbox/egress_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/request.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;
constexpr size_t kMaxNameBytes = 253;  // of DNS
constexpr size_t kMaxHeadBytes = size_t{64} << 10U;
constexpr size_t kPieceBytes = size_t{32} << 10U;
constexpr size_t kMaxConnections = 256;
constexpr size_t kMaxRefusedNames = 20;
constexpr std::chrono::seconds kHeadTime{30};
constexpr std::chrono::seconds kConnectTime{30};

struct HostAndPort {
  std::string host;  ///< lower case, without brackets and final dot
  std::optional<uint16_t> port;
};

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

/// Takes `host`, `host:port` and `[address]:port` apart; nothing if it is none of them.
std::optional<HostAndPort> take_apart(std::string_view text) {
  HostAndPort parts;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return {};
    parts.host = to_lower(text.substr(1, end - 1));
    rest = text.substr(end + 1);
    in6_addr address{};
    const bool is_plain = parts.host.find_first_not_of("0123456789abcdef:.") == parts.host.npos;
    if (!is_plain || inet_pton(AF_INET6, parts.host.c_str(), &address) != 1) return {};
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    parts.host = to_lower(text.substr(0, end));
    rest = text.substr(end);
    if (parts.host.ends_with('.')) parts.host.pop_back();
    const bool is_name = !parts.host.empty() && parts.host.size() <= kMaxNameBytes &&
                         !parts.host.starts_with('.') && parts.host.find("..") == text.npos &&
                         std::all_of(parts.host.begin(), parts.host.end(), is_host_character);
    if (!is_name) return {};
  }
  if (rest.empty()) return parts;
  parts.port = number_of<uint16_t>(rest.substr(1));
  if (rest.front() != ':' || parts.port.value_or(0) == 0) return {};
  return parts;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool is_own_v4(uint32_t address) {
  constexpr uint32_t kTopByte = 24;
  constexpr uint32_t kTopHalf = 16;
  constexpr uint32_t kLoopback = 127;
  constexpr uint32_t kLinkLocal = 0xa9fe;  // 169.254
  const uint32_t first = address >> kTopByte;
  return first == 0 || first == kLoopback || address >> kTopHalf == kLinkLocal;
}

/// Whether this is an address of this machine itself or of its link.
bool is_own_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return is_own_v4(ntohl(v4.sin_addr.s_addr));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const in6_addr& bytes = v6.sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&bytes) || IN6_IS_ADDR_V4COMPAT(&bytes)) {
    uint32_t last = 0;
    std::memcpy(&last, bytes.s6_addr + sizeof bytes - sizeof last, sizeof last);
    return is_own_v4(ntohl(last));
  }
  return IN6_IS_ADDR_LOOPBACK(&bytes) || IN6_IS_ADDR_UNSPECIFIED(&bytes) ||
         IN6_IS_ADDR_LINKLOCAL(&bytes);
}

/// Bytes on their way from one socket to the other.
class Direction {
 public:
  Direction(int from, int to, std::string first) : from_(from), to_(to), held_(std::move(first)) {}

  [[nodiscard]] bool wants_input() const { return held_.empty() && !has_ended_; }
  [[nodiscard]] bool wants_output() const { return !held_.empty(); }
  [[nodiscard]] bool is_over() const { return is_shut_; }

  /// Moves what can be moved. Returns false on an error of either socket.
  bool advance() {
    if (wants_input()) {
      held_.resize(kPieceBytes);
      const ssize_t got = recv(from_, held_.data(), held_.size(), MSG_DONTWAIT);
      const int code = errno;
      held_.resize(got > 0 ? static_cast<size_t>(got) : 0);
      if (got == 0) has_ended_ = true;
      if (got < 0 && code != EAGAIN && code != EINTR) return false;
    }
    if (wants_output()) {
      const ssize_t sent = send(to_, held_.data(), held_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (sent > 0) held_.erase(0, static_cast<size_t>(sent));
    }
    if (has_ended_ && held_.empty() && !is_shut_) {
      is_shut_ = true;
      (void)shutdown(to_, SHUT_WR);
    }
    return true;
  }

 private:
  int from_;
  int to_;
  std::string held_;
  bool has_ended_ = false;
  bool is_shut_ = false;
};

/// Returns the head without the fields that are for a proxy. The connection serves one request, so
/// that the next one is checked, too.
std::string head_for_host(std::string_view line, std::string_view fields) {
  std::string head(line);
  head += "\r\n";
  while (!fields.empty()) {
    const size_t end = std::min(fields.find("\r\n"), fields.size());
    const std::string_view field = fields.substr(0, end);
    fields.remove_prefix(std::min(end + 2, fields.size()));
    const std::string name = to_lower(field.substr(0, field.find(':')));
    const bool is_ours = name.starts_with("proxy-") || name == "connection" || field.empty();
    if (!is_ours) head.append(field).append("\r\n");
  }
  return head + "Connection: close\r\n\r\n";
}

std::string answer(std::string_view status, const std::string& text) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, text.size() + 1, text + "\n");
}

std::string shown(const ProxyRequest& target) {
  const bool is_v6 = target.host.find(':') != target.host.npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", target.host, is_v6 ? "]" : "", target.port);
}

class RunningProxy : public EgressProxy {
 public:
  RunningProxy(std::vector<AllowedHost> allowed, Fd outer, Fd inner, Fd stop)
      : allowed_(std::move(allowed)),
        outer_(std::move(outer)),
        inner_(std::move(inner)),
        stop_(std::move(stop)) {}
  ~RunningProxy() override {
    const uint64_t one = 1;
    (void)!write(stop_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    for (Connection& connection : connections_) connection.thread.join();
  }
  RunningProxy(const RunningProxy&) = delete;
  RunningProxy& operator=(const RunningProxy&) = delete;

  Result<void> begin() {
    try {
      thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error& error) {
      return os_error(error.code().value(), "cannot start the proxy of a command", "");
    }
    return {};
  }

  [[nodiscard]] int inner_end() const override { return inner_.get(); }
  void close_inner_end() override { inner_ = Fd(); }
  [[nodiscard]] std::vector<std::string> refused() const override {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  struct Connection {
    Fd client;
    std::thread thread;
    std::atomic<bool> is_over = false;
  };

  /// Waits for events of these descriptors or for the end. Returns false at the end, after an error
  /// and when the time is over.
  bool wait_for(std::initializer_list<pollfd> wanted, SteadyClock::time_point until) const {
    std::array<pollfd, 3> polled{};
    size_t count = 0;
    polled[count++] = {stop_.get(), POLLIN, 0};
    for (const pollfd& one : wanted) polled[count++] = one;
    for (;;) {
      int timeout = -1;
      if (until != SteadyClock::time_point::max()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
        if (left <= 0) return false;
        timeout = static_cast<int>(left);
      }
      const int ready = poll(polled.data(), count, timeout);
      if (ready < 0 && errno == EINTR) continue;
      return ready > 0 && polled[0].revents == 0;
    }
  }

  void serve() {
    const auto never = SteadyClock::time_point::max();
    std::vector<Fd> received;
    const bool has_listener = wait_for({{outer_.get(), POLLIN, 0}}, never) &&
                              receive_descriptors(outer_.get(), received) && received.size() == 1;
    if (!has_listener) return;
    const Fd listener = std::move(received.front());
    (void)fcntl(listener.get(), F_SETFL, O_NONBLOCK);
    while (wait_for({{listener.get(), POLLIN, 0}}, never)) {
      Fd client(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) {
        // No descriptors are left, or the client is gone.
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
          (void)poll(nullptr, 0, 10);
        }
        continue;
      }
      std::erase_if(connections_, [](Connection& connection) {
        if (!connection.is_over) return false;
        connection.thread.join();
        return true;
      });
      if (connections_.size() >= kMaxConnections) {
        tell(client.get(), answer("503 Service Unavailable", "galley: too many connections"));
        continue;
      }
      Connection& connection = connections_.emplace_back();
      connection.client = std::move(client);
      try {
        connection.thread = std::thread([this, &connection] {
          serve_client(connection.client.get());
          connection.client = Fd();
          connection.is_over = true;
        });
      } catch (const std::system_error&) {
        connections_.pop_back();
      }
    }
  }

  void serve_client(int client) {
    const auto request = read_request(client);
    if (!request) return tell(client, answer("400 Bad Request", "galley: not a proxy request"));
    const std::string host_name = shown(*request);
    if (!is_allowed_host(allowed_, request->host, request->port)) {
      note_refused(host_name);
      return tell(client, answer("403 Forbidden", "galley: " + refused_host_text(host_name)));
    }
    std::string why;
    const Fd host = connect_to(*request, why);
    if (!host.is_open()) {
      return tell(client, answer("502 Bad Gateway", "galley: " + host_name + ": " + why));
    }
    if (request->is_tunnel) tell(client, "HTTP/1.1 200 Connection established\r\n\r\n");
    relay(client, host.get(), request->first);
  }

  static void tell(int client, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(client, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }

  std::optional<ProxyRequest> read_request(int client) const {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const auto until = SteadyClock::now() + kHeadTime;
    std::string bytes;
    std::array<char, kPieceBytes> piece{};
    while (bytes.size() < kMaxHeadBytes && wait_for({{client, POLLIN, 0}}, until)) {
      const ssize_t got = recv(client, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return {};
      const size_t from = bytes.size() < kEnd.size() ? 0 : bytes.size() - kEnd.size();
      bytes.append(piece.data(), static_cast<size_t>(got));
      const size_t end = bytes.find(kEnd, from);
      if (end == bytes.npos) continue;
      const std::string_view whole = bytes;
      return parse_proxy_request(whole.substr(0, end + 2), whole.substr(end + kEnd.size()));
    }
    return {};
  }

  Fd connect_to(const ProxyRequest& target, std::string& why) const {
    const bool may_be_own = target.host == "localhost" || is_address(target.host);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code =
        getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &found);
    if (code != 0) {
      why = gai_strerror(code);
      return Fd();
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    const auto until = SteadyClock::now() + kConnectTime;
    for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
      if (!may_be_own && is_own_address(*one->ai_addr)) {
        why = "its address is of this machine: allow the address itself";
        continue;
      }
      Fd made(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      int failure = made.is_open() ? 0 : errno;
      if (failure == 0 && connect(made.get(), one->ai_addr, one->ai_addrlen) != 0) failure = errno;
      if (failure == EINPROGRESS) {
        socklen_t size = sizeof failure;
        const bool is_ready = wait_for({{made.get(), POLLOUT, 0}}, until);
        if (!is_ready) {
          failure = ETIMEDOUT;
        } else if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
          failure = errno;
        }
      }
      if (failure == 0) {
        const int on = 1;
        (void)setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(made.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        return made;
      }
      why = std::generic_category().message(failure);
    }
    return Fd();
  }

  void relay(int client, int host, const std::string& first) const {
    Direction up(client, host, first);
    Direction down(host, client, {});
    const auto events = [](const Direction& reads, const Direction& writes) {
      return static_cast<short>((reads.wants_input() ? POLLIN : 0) |
                                (writes.wants_output() ? POLLOUT : 0));
    };
    while (!up.is_over() || !down.is_over()) {
      // A socket without wanted events would report its end again and again.
      const short of_client = events(up, down);
      const short of_host = events(down, up);
      if (!wait_for({{of_client == 0 ? -1 : client, of_client, 0},
                     {of_host == 0 ? -1 : host, of_host, 0}},
                    SteadyClock::time_point::max())) {
        return;
      }
      if (!up.advance() || !down.advance()) return;
    }
  }

  void note_refused(std::string host) {
    const std::lock_guard lock(mutex_);
    if (refused_.size() >= kMaxRefusedNames) return;
    if (std::find(refused_.begin(), refused_.end(), host) == refused_.end()) {
      refused_.push_back(std::move(host));
    }
  }

  std::vector<AllowedHost> allowed_;
  Fd outer_;
  Fd inner_;
  Fd stop_;
  std::thread thread_;
  std::list<Connection> connections_;  ///< of serve(), then of the destructor
  mutable std::mutex mutex_;
  std::vector<std::string> refused_;  ///< guarded by mutex_
};

}  // namespace

Result<AllowedHost> parse_allowed_host(std::string_view text) {
  AllowedHost host;
  std::string_view name = text;
  if (name.starts_with("*.")) {
    host.matches_children = true;
    name.remove_prefix(2);
  }
  auto parts = take_apart(name);
  const bool is_odd = parts && host.matches_children && is_address(parts->host);
  if (!parts || is_odd) {
    return fail(ErrorKind::kUsage, "command.host",
                "'" + std::string(text) +
                    "' is not a host: write api.example.org, *.example.org or example.org:8443");
  }
  host.name = std::move(parts->host);
  host.port = parts->port.value_or(0);
  return host;
}

Result<std::vector<AllowedHost>> parse_allowed_hosts(const std::vector<std::string>& texts) {
  if (texts.size() > kMaxAllowedHosts) {
    return fail(
        ErrorKind::kUsage, "command.host",
        fmt::format("{} hosts are allowed, and {} are the most", texts.size(), kMaxAllowedHosts));
  }
  std::vector<AllowedHost> hosts;
  for (const std::string& text : texts) {
    GALLEY_ASSIGN(AllowedHost host, parse_allowed_host(text));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

bool is_allowed_host(const std::vector<AllowedHost>& allowed, std::string_view host,
                     uint16_t port) {
  std::string name = to_lower(host);
  if (name.ends_with('.')) name.pop_back();
  return std::any_of(allowed.begin(), allowed.end(), [&](const AllowedHost& one) {
    const bool is_port = one.port == 0 ? port == kHttpPort || port == kHttpsPort : one.port == port;
    return is_port && (one.matches_children ? name.ends_with("." + one.name) : name == one.name);
  });
}

std::optional<ProxyRequest> parse_proxy_request(std::string_view head, std::string_view after) {
  const size_t line_end = head.find("\r\n");
  const std::string_view line = head.substr(0, line_end);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == line.npos || last <= first) return {};
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!version.starts_with("HTTP/1.")) return {};
  ProxyRequest request;
  request.is_tunnel = method == "CONNECT";
  constexpr std::string_view kScheme = "http://";
  if (!request.is_tunnel) {
    if (to_lower(target.substr(0, kScheme.size())) != kScheme) return {};
    target.remove_prefix(kScheme.size());
  }
  const size_t host_end =
      request.is_tunnel ? target.size() : std::min(target.find_first_of("/?"), target.size());
  auto parts = take_apart(target.substr(0, host_end));
  if (!parts) return {};
  request.host = std::move(parts->host);
  request.port = parts->port.value_or(request.is_tunnel ? kHttpsPort : kHttpPort);
  if (request.is_tunnel) {
    request.first = after;
    return request;
  }
  const std::string path(target.substr(host_end));
  const std::string own_line =
      fmt::format("{} {}{} {}", method, path.starts_with('/') ? "" : "/", path, version);
  request.first = head_for_host(own_line, head.substr(line_end + 2));
  request.first += after;
  return request;
}

Result<std::unique_ptr<EgressProxy>> EgressProxy::start(std::vector<AllowedHost> allowed) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os_error(errno, "cannot make a socket", "");
  }
  const Fd outer(ends[0]);
  const Fd inner(ends[1]);
  Fd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.is_open()) return os_error(errno, "cannot make an event", "");
  auto proxy = std::make_unique<RunningProxy>(std::move(allowed), duplicate_high(outer.get()),
                                              duplicate_high(inner.get()), std::move(stop));
  GALLEY_TRY(proxy->begin());
  return proxy;
}

std::map<std::string, std::string> proxy_environment(const std::vector<std::string>& hosts) {
  const std::string url = fmt::format("http://127.0.0.1:{}", kProxyPort);
  std::vector<std::string> direct = {"localhost", "127.0.0.1", "::1"};
  for (const std::string& text : hosts) {
    const auto host = parse_allowed_host(text);
    if (host && !host->matches_children) std::erase(direct, host->name);
  }
  const std::string own = join(direct, ",");
  // NODE_USE_ENV_PROXY: Node's own requests obey the others only with it.
  return {{"HTTP_PROXY", url},        {"http_proxy", url}, {"HTTPS_PROXY", url},
          {"https_proxy", url},       {"NO_PROXY", own},   {"no_proxy", own},
          {"NODE_USE_ENV_PROXY", "1"}};
}

std::string refused_host_text(std::string_view host_and_port) {
  std::string_view named = host_and_port;
  for (const std::string_view usual : {":443", ":80"}) {
    if (named.ends_with(usual)) named.remove_suffix(usual.size());
  }
  return fmt::format("{} is not an allowed host: allow it with --allow-host {}", host_and_port,
                     named);
}

}  // namespace galley
