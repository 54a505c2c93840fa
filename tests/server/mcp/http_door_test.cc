#include "server/mcp/http_door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/mcp/server_facts.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

/// A clock that a test can move forward, from any thread.
class MovedClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 0; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::now() + std::chrono::seconds(seconds.load());
  }
  std::atomic<int64_t> seconds = 0;
};

/// One request to a socket file.
class Exchange {
 public:
  Exchange(const std::string& path, const json& message, const std::string& headers,
           const std::string& method = "POST")
      : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    GALLEY_CHECK(
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const std::string body = message.dump();
    const std::string text =
        method + " /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: */*\r\n" + headers +
        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    GALLEY_CHECK(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(text.size()));
  }
  ~Exchange() { ::close(descriptor_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Reads until the text contains `end`, or to the end of the connection.
  const std::string& read(const std::string& end = "\n\n\n\n") {
    std::array<char, 4096> piece;
    while (heard_.find(end) == std::string::npos) {
      const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), 0);
      if (count <= 0) break;
      heard_.append(piece.data(), static_cast<size_t>(count));
    }
    return heard_;
  }
  json answer() {
    const std::string& all = read();
    return json::parse(all.substr(all.find("\r\n\r\n") + 4), nullptr, false);
  }

 private:
  int descriptor_;
  std::string heard_;
};

class McpHttpDoorFacts : public ::testing::Test {
 protected:
  McpHttpDoorFacts() {
    listener_ = *LocalListener::open_file(path_, clock);
    McpHttpDoor::Options options;
    options.must_end = [this] { return must_end_.load(); };
    options.paths["/mcp"] =
        [this](const auto& /*opening*/) -> Result<std::shared_ptr<McpFeatures>> {
      auto features = std::make_shared<OneTool>();
      features->work = [this](McpRequest& request) { return work(request); };
      return features;
    };
    door_ = std::make_unique<McpHttpDoor>(*listener_, options, clock);
    GALLEY_CHECK(door_->open().has_value());
    serving_ = std::thread([this] { EXPECT_TRUE(door_->serve()); });
  }
  ~McpHttpDoorFacts() override {
    must_end_ = true;
    serving_.join();
  }

  Exchange ask(const json& message, const std::string& headers) const {
    return {path_, message, headers};
  }
  Exchange ask_stateless(const json& id) const {
    const json message = {{"jsonrpc", "2.0"},
                          {"id", id},
                          {"method", "tools/call"},
                          {"params",
                           {{"name", "work"},
                            {"_meta",
                             {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"},
                              {"io.modelcontextprotocol/clientCapabilities", json::object()}}}}}};
    return ask(message,
               "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: work\r\n");
  }
  std::unique_ptr<Exchange> ask_at(const char* method, const json& message,
                                   const std::string& headers) const {
    return std::make_unique<Exchange>(path_, message, headers, method);
  }
  /// The answer to a request for a new session.
  std::string hello(const json& capabilities = json::object()) const {
    return ask({{"jsonrpc", "2.0"},
                {"id", 1},
                {"method", "initialize"},
                {"params", {{"protocolVersion", "2025-11-25"}, {"capabilities", capabilities}}}},
               "")
        .read();
  }
  /// The header of a new session.
  std::string session(const json& capabilities = json::object()) const {
    const std::string said = hello(capabilities);
    const size_t at = said.find("Mcp-Session-Id: ");
    return said.substr(at, said.find("\r\n", at) + 2 - at);
  }
  static json call(const json& id) {
    return {
        {"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", {{"name", "work"}}}};
  }

  std::function<McpAnswer(McpRequest&)> work = [](McpRequest&) {
    return ordered_json{{"done", true}};
  };
  MovedClock clock;

 private:
  TempDirectory folder_;
  std::string path_ = folder_.path() + "/s";
  std::unique_ptr<LocalListener> listener_;
  std::unique_ptr<McpHttpDoor> door_;
  std::atomic<bool> must_end_ = false;
  std::thread serving_;
};

TEST_F(McpHttpDoorFacts, ManyClientsOfBothErasAreAnsweredAtTheSameTime) {
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      const std::string header = client % 2 == 0 ? session() : "";
      for (int id = 0; id < 20; ++id) {
        const json said =
            client % 2 == 0 ? ask(call(id), header).answer() : ask_stateless(id).answer();
        if (said["id"] == id && said["result"]["done"] == true) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 160);
}

TEST_F(McpHttpDoorFacts, AClientThatWaitsForLongHearsASignOfLife) {
  Door begun;
  Door door;
  work = [&](McpRequest&) -> McpAnswer {
    begun.open();
    door.pass();
    return ordered_json{{"done", true}};
  };
  Exchange slow = ask_stateless(1);
  begun.pass();
  clock.seconds += 20;
  EXPECT_NE(slow.read(": still here").find("text/event-stream"), std::string::npos);
  door.open();
  EXPECT_NE(slow.read().find(R"("done":true)"), std::string::npos);
}

TEST_F(McpHttpDoorFacts, ACancelledRequestOfASessionEndsItsConnection) {
  Door begun;
  work = [&](McpRequest& request) -> McpAnswer {
    begun.open();
    while (!request.stop().stop_requested()) std::this_thread::yield();
    return ordered_json::object();
  };
  const std::string header = session();
  Exchange slow = ask(call(7), header);
  begun.pass();
  Exchange cancel = ask(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", 7}}}},
      header);
  EXPECT_TRUE(cancel.read().starts_with("HTTP/1.1 202"));
  EXPECT_EQ(slow.read().find("\"id\":7"), std::string::npos);
}

TEST_F(McpHttpDoorFacts, AQuestionToAClientThatHasLeftGetsNoAnswer) {
  constexpr std::chrono::seconds kPatience{30};
  const std::string header = session({{"elicitation", json::object()}});
  for (const bool leaves_before : {true, false}) {
    Door begun;
    Door door;
    std::promise<json> answered;
    work = [&](McpRequest& request) -> McpAnswer {
      begun.open();
      door.pass();
      answered.set_value(*request.ask("who", "elicitation/create", {{"message", "who?"}}));
      return ordered_json::object();
    };
    auto asked = ask_at("POST", call(leaves_before ? 7 : 8), header);
    begun.pass();
    if (leaves_before) asked.reset();
    // The door knows that the client has left when it answers a later one.
    EXPECT_TRUE(hello().starts_with("HTTP/1.1 200"));
    door.open();
    if (asked) {
      EXPECT_NE(asked->read("who?").find("elicitation/create"), std::string::npos);
    }
    asked.reset();
    auto answer = answered.get_future();
    ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready) << leaves_before;
    EXPECT_EQ(answer.get(), nullptr);
  }
}

TEST_F(McpHttpDoorFacts, TheFeaturesOfAnOpenRequestOutliveItsSession) {
  Door begun;
  Door door;
  work = [&](McpRequest&) -> McpAnswer {
    begun.open();
    door.pass();
    return ordered_json{{"done", true}};
  };
  const std::string header = session();
  Exchange slow = ask(call(7), header);
  begun.pass();
  // Above the limit this session ends only if none of its answers is open.
  for (size_t i = 0; i <= McpHttpDoor::kMaxSessions; ++i) session();
  door.open();
  EXPECT_NE(slow.read().find(R"("done":true)"), std::string::npos);
}

TEST_F(McpHttpDoorFacts, SessionsThatStillEndCountToo) {
  std::atomic<size_t> begun = 0;
  std::atomic<bool> may_end = false;
  work = [&](McpRequest&) -> McpAnswer {
    ++begun;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ordered_json::object();
  };
  std::vector<std::unique_ptr<Exchange>> calls;
  for (size_t i = 0; i < McpHttpDoor::kMaxSessions; ++i) {
    const std::string header = session();
    calls.push_back(ask_at("POST", call(7), header));
    while (begun <= i) std::this_thread::yield();
    EXPECT_TRUE(ask_at("DELETE", json::object(), header)->read().starts_with("HTTP/1.1 200"));
  }
  EXPECT_TRUE(hello().starts_with("HTTP/1.1 503")) << "all of them still end";
  may_end = true;
  while (!hello().starts_with("HTTP/1.1 200")) std::this_thread::yield();
}

}  // namespace
}  // namespace galley
