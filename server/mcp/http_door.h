#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/http/http.h"
#include "server/mcp/features.h"
#include "server/mcp/server.h"
#include "staging/fs/local_listener.h"

namespace galley {

/// Serves the Model Context Protocol over HTTP to clients on this machine ("Streamable HTTP" of
/// modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28). It only translates: each
/// client with a handshake has its own McpServer, named by Mcp-Session-Id, and all stateless
/// requests to one path share another one.
///
///     POST request  -> McpServer::take -> Send -> JSON, or events until the answer
///     GET  session  -> events: the messages about no request
///     DELETE        -> the session ends
///
/// Invariant: a request that lacks the token, or names another host or origin, reaches no server.
///            Sessions, streams, heads, bodies and unsent bytes are bounded.
/// Ownership: owns the servers and their features; borrows the listener.
/// Threads:   serve() reads and translates on the thread that calls it, and never waits for a
///            client or a request. The servers' threads send the answers; `mutex_` guards what
///            they use. A session ends on a thread of its own. Lock order: the server's, `mutex_`,
///            the connection's.
class McpHttpDoor {
 public:
  /// Whose features are wanted: those of a new session, or those that all stateless clients share.
  struct Opening {
    bool is_shared = false;
    std::string agent_session = {};  ///< that the header Galley-Session of `initialize` names
  };
  /// Errors: kUsage if the name of the session is bad.
  using OpenFeatures = std::function<Result<std::shared_ptr<McpFeatures>>(const Opening&)>;
  struct Options {
    HttpHost host;
    std::string token = {};                     ///< empty: the listener checks its peers
    std::map<std::string, OpenFeatures> paths;  ///< "/mcp" and what is served there
    std::function<bool()> must_end = {};        ///< asked every kTick
  };

  static constexpr size_t kMaxSessions =
      32;  ///< above, the longest unused one without a stream ends; also of those that still end
  static constexpr std::chrono::milliseconds kTick{500};
  /// Clients and proxies give up on a connection without bytes.
  static constexpr std::chrono::seconds kQuietTime{15};
  static constexpr std::chrono::seconds kRequestTime{30};  ///< for sending a request

  McpHttpDoor(LocalListener& listener, Options options, const Clock& clock);
  ~McpHttpDoor();
  McpHttpDoor(const McpHttpDoor&) = delete;
  McpHttpDoor& operator=(const McpHttpDoor&) = delete;

  /// Opens what stateless clients use, so that errors are found at the start.
  Result<void> open();
  /// Serves until must_end() says so, and then ends all sessions.
  /// Errors: those of the listener.
  Result<void> serve();

 private:
  /// A session, or all stateless clients of a path.
  struct Client {
    std::string path;
    bool is_shared = false;
    std::shared_ptr<McpFeatures> features;
    std::unique_ptr<McpServer> server;
    std::chrono::steady_clock::time_point used;
    uint64_t notices = 0;  ///< guarded by mutex_: its stream of messages about no request
  };
  using ClientPtr = std::shared_ptr<Client>;
  /// An open answer.
  struct Stream {
    std::shared_ptr<LocalConnection> connection;
    const Client* client = nullptr;
    std::vector<std::pair<std::string, std::string>> headers = {};
    bool is_started = false;  ///< as a stream of events
    std::chrono::steady_clock::time_point used;
  };
  struct Exchange {
    const HttpRequest& request;
    const std::shared_ptr<LocalConnection>& connection;
  };

  [[nodiscard]] bool is_admitted(const HttpRequest& request) const;
  [[nodiscard]] HttpResponse refusal_of(const HttpRequest& request) const;
  [[nodiscard]] HttpParse parse(std::string_view bytes) const;
  void take(const LocalListener::Event& event);
  void answer(const Exchange& exchange);
  void post(const Exchange& exchange);
  void post_to_session(const Exchange& exchange, RpcMessage message);
  void post_stateless(const Exchange& exchange, RpcMessage message);
  void begin_session(const Exchange& exchange, RpcMessage message);
  void forward(const ClientPtr& client, const Exchange& exchange, RpcMessage message,
               std::vector<std::pair<std::string, std::string>> headers = {});
  void get(const Exchange& exchange);
  void end(const Exchange& exchange);
  [[nodiscard]] ClientPtr session_of(const Exchange& exchange);

  Result<ClientPtr> open_client(const std::string& path, const Opening& opening);
  uint64_t open_stream(Client& client, const Exchange& exchange);
  void deliver(Client& client, const McpServer::Outgoing& message);
  void begin_events(Stream& stream) const;
  void peer_left(const std::shared_ptr<LocalConnection>& connection);
  void keep_streams_awake();
  bool make_room();
  void forget_ended();
  void retire(ClientPtr client);
  void end_all();

  LocalListener& listener_;
  Options options_;
  const Clock& clock_;
  std::map<std::string, ClientPtr> sessions_;  ///< by their ids
  std::map<std::string, ClientPtr> shared_;    ///< by path
  std::vector<std::future<void>> endings_;     ///< of clients; some may be over

  std::mutex mutex_;  ///< guards the following
  std::map<uint64_t, Stream> streams_;
  uint64_t last_stream_ = 0;
};

}  // namespace galley
