#include "staging/sandbox/egress_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "staging/sandbox/helper/descriptors.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(AllowedHosts, AreNamesAddressesAndPorts) {
  for (const char* text : {"a.org", "A.org.", "*.a.org", "a.org:8443", "10.0.0.1", "[::1]:80",
                           "localhost:3000", "a_b.c-d.org"}) {
    EXPECT_TRUE(parse_allowed_host(text).has_value()) << text;
  }
  for (const char* text :
       {"", "*", "https://a.org", "a.org/", "a org", "a.org:0", "a.org:65536", "a.org:x", "::1",
        "[::1", "[a.org]", "a..org", ".a.org", "*.10.0.0.1", "a.*.org", "u@a.org", "a.org:80:80"}) {
    const auto host = parse_allowed_host(text);
    ASSERT_FALSE(host.has_value()) << text;
    EXPECT_EQ(host.error().reason, "command.host");
  }
  // Limit: kMaxAllowedHosts of staging/sandbox/egress_proxy.h
  EXPECT_TRUE(parse_allowed_hosts(std::vector<std::string>(kMaxAllowedHosts, "a.org")));
  EXPECT_FALSE(parse_allowed_hosts(std::vector<std::string>(kMaxAllowedHosts + 1, "a.org")));
}

TEST(AllowedHosts, AreMatchedWhole) {
  const auto hosts = *parse_allowed_hosts({"a.org", "*.b.org", "c.org:8443", "[::1]:80"});
  EXPECT_TRUE(is_allowed_host(hosts, "A.ORG.", 443) && is_allowed_host(hosts, "a.org", 80));
  EXPECT_TRUE(is_allowed_host(hosts, "x.y.b.org", 443));
  EXPECT_TRUE(is_allowed_host(hosts, "c.org", 8443) && is_allowed_host(hosts, "::1", 80));
  EXPECT_FALSE(is_allowed_host(hosts, "a.org", 22) || is_allowed_host(hosts, "x.a.org", 443));
  EXPECT_FALSE(is_allowed_host(hosts, "xa.org", 443) || is_allowed_host(hosts, "a.org.x", 443));
  EXPECT_FALSE(is_allowed_host(hosts, "b.org", 443) || is_allowed_host(hosts, "xb.org", 443));
  EXPECT_FALSE(is_allowed_host(hosts, "c.org", 443));
}

/// A listening socket on this address of the loopback device.
class Listener {
 public:
  explicit Listener(const char* address) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    inet_pton(AF_INET, address, &place.sin_addr);
    socklen_t size = sizeof place;
    const bool listens = bind(fd_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0 &&
                         listen(fd_.get(), 8) == 0 &&
                         getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&place), &size) == 0;
    EXPECT_TRUE(listens);
    place_ = place;
  }
  [[nodiscard]] int get() const { return fd_.get(); }
  [[nodiscard]] uint16_t port() const { return ntohs(place_.sin_port); }
  [[nodiscard]] Fd connected() const {
    Fd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&place_), sizeof place_), 0);
    return client;
  }

 private:
  Fd fd_;
  sockaddr_in place_{};
};

std::string read_to_end(int fd) {
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = read(fd, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<size_t>(got));
  }
  return text;
}

/// A proxy and the host "127.0.0.2", which echoes everything until the end of its input.
class Egress : public ::testing::Test {
 protected:
  Egress() : host_("127.0.0.2"), inside_("127.0.0.1") {
    echo_ = std::thread([this] {
      for (int fd = 0; (fd = accept4(host_.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        const Fd client(fd);
        char piece[4096];
        for (ssize_t got = 0; (got = read(client.get(), piece, sizeof piece)) > 0;) {
          EXPECT_TRUE(write_all(client.get(), {piece, static_cast<size_t>(got)}));
        }
      }
    });
    auto started = EgressProxy::start(*parse_allowed_hosts({name(), "localhost"}));
    proxy_ = *std::move(started);
    EXPECT_TRUE(send_descriptors(proxy_->inner_end(), {inside_.get()}));
    proxy_->close_inner_end();
  }
  ~Egress() override {
    proxy_.reset();
    (void)shutdown(host_.get(), SHUT_RDWR);
    echo_.join();
  }
  [[nodiscard]] std::string name() const { return "127.0.0.2:" + std::to_string(host_.port()); }

  /// Sends the request, and returns everything that comes back.
  std::string asked(const std::string& request) {
    const Fd client = inside_.connected();
    EXPECT_TRUE(write_all(client.get(), request));
    (void)shutdown(client.get(), SHUT_WR);
    return read_to_end(client.get());
  }

  Listener host_;
  Listener inside_;
  std::thread echo_;
  std::unique_ptr<EgressProxy> proxy_;
};

TEST_F(Egress, ATunnelPassesAllBytesInBothDirections) {
  const std::string much(size_t{3} << 20U, 'x');
  EXPECT_EQ(asked("CONNECT " + name() + " HTTP/1.1\r\nHost: " + name() + "\r\n\r\n" + much),
            "HTTP/1.1 200 Connection established\r\n\r\n" + much);
  EXPECT_THAT(proxy_->refused(), ElementsAre());
}

TEST_F(Egress, ARequestOfAUrlReachesTheHostWithItsOwnFields) {
  EXPECT_EQ(asked("GET http://" + name() +
                  "/a?b HTTP/1.1\r\nHost: h\r\nProxy-Authorization: x\r\n"
                  "Connection: keep-alive\r\nX: 1\r\n\r\nbody"),
            "GET /a?b HTTP/1.1\r\nHost: h\r\nX: 1\r\nConnection: close\r\n\r\nbody");
  EXPECT_THAT(asked("GET http://" + name() + " HTTP/1.0\r\n\r\n"),
              StartsWith("GET / HTTP/1.0\r\n"));
}

TEST_F(Egress, OtherHostsAreRefusedAndNamed) {
  const std::string other = asked("CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
  EXPECT_THAT(other, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(other, HasSubstr("--allow-host evil.example\n"));
  (void)asked("CONNECT evil.example:443 HTTP/1.1\r\n\r\n");
  (void)asked("GET http://127.0.0.2/ HTTP/1.1\r\n\r\n");
  EXPECT_THAT(proxy_->refused(), ElementsAre("evil.example:443", "127.0.0.2:80"));
}

TEST_F(Egress, WhatIsNoRequestOfAProxyIsRefused) {
  for (const char* request : {"GET / HTTP/1.1\r\n\r\n", "CONNECT HTTP/1.1\r\n\r\n", "\r\n\r\n",
                              "GET ftp://a.org/ HTTP/1.1\r\n\r\n", "CONNECT a.org:443 SPDY\r\n\r\n",
                              "CONNECT u@a.org:443 HTTP/1.1\r\n\r\n"}) {
    EXPECT_THAT(asked(request), StartsWith("HTTP/1.1 400 ")) << request;
  }
  EXPECT_THAT(asked(std::string(100'000, 'x')), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(asked(std::string("CONNECT [::1\0x]:80 HTTP/1.1\r\n\r\n", 31)),
              StartsWith("HTTP/1.1 400 "));
}

TEST_F(Egress, TheEndOfTheProxyEndsItsConnections) {
  const Fd client = inside_.connected();
  ASSERT_TRUE(write_all(client.get(), "CONNECT " + name() + " HTTP/1.1\r\n\r\n"));
  char piece[64];
  ASSERT_GT(read(client.get(), piece, sizeof piece), 0);
  const Fd silent = inside_.connected();
  proxy_.reset();
  EXPECT_EQ(read_to_end(client.get()), "");
}

TEST(EgressProxy, ANameThatLeadsToThisMachineIsRefused) {
  // /etc/hosts of every Debian machine names it.
  const auto proxy = *EgressProxy::start(*parse_allowed_hosts({"ip6-localhost", "localhost"}));
  const Listener inside("127.0.0.1");
  ASSERT_TRUE(send_descriptors(proxy->inner_end(), {inside.get()}));
  const Fd client = inside.connected();
  ASSERT_TRUE(write_all(client.get(), "CONNECT ip6-localhost:443 HTTP/1.1\r\n\r\n"));
  (void)shutdown(client.get(), SHUT_WR);
  const std::string answer = read_to_end(client.get());
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 "));
}

}  // namespace
}  // namespace galley
