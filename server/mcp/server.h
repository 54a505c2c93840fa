#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "server/mcp/features.h"
#include "server/mcp/request_state.h"
#include "tools/rpc_message.h"

namespace galley {

/// A server of the Model Context Protocol, in both eras of it: the one with a handshake
/// (`initialize`, up to 2025-11-25), and the stateless one (2026-07-28), in which each request says
/// its version and what the client can do. Which one a request belongs to shows in its `_meta`.
/// The format is that of modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28.
///
///     take(line) -> dispatch -> queue -> worker -> features -> send(answer)
///                      |                   |
///                      |                   +-- ask(): question to the client, or input_required
///                      +-- ping, cancelled, answers to our questions: at once
///
/// Invariant: a request gets one answer, or none when it was cancelled; nothing that comes in ends
///            the server, and what it keeps of a client is bounded.
/// Ownership: borrows features and clock; owns its threads.
/// Threads:   take() and finish() are called from one thread; `send` is called from several, one at
///            a time.
class McpServer {
 public:
  using Send = std::function<void(const std::string& line)>;

  static constexpr size_t kMaxWorkers = 8;           ///< requests that are worked on side by side
  static constexpr size_t kMaxWaiting = 1000;        ///< requests that wait for one of them
  static constexpr size_t kMaxSubscriptions = 1000;  ///< of one client, all kinds together
  static constexpr size_t kPageItems = 250;          ///< of one answer to a list
  static constexpr std::chrono::minutes kAnswerTime{10};  ///< for the client to answer a question
  static constexpr std::chrono::seconds kDrainTime{5};    ///< after the end of the input

  McpServer(McpFeatures& features, const Clock& clock, Send send);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  /// Takes one line from the client.
  void take(std::string_view line);
  /// Answers a line that was longer than a message may be.
  void refuse_long_line();
  /// The client is gone: nobody answers questions any more. Returns when what was begun has ended.
  void finish();

 private:
  class Request;
  /// What a request is answered by: the client's abilities, and in which words.
  struct Era {
    bool is_stateless = false;
    nlohmann::json capabilities = nlohmann::json::object();
  };
  struct Running {
    RpcId id;
    std::string method;
    nlohmann::json params;
    Era era;
    std::stop_source stop;
    std::atomic<bool> is_silent = false;  ///< cancelled: it gets no answer
  };
  /// A stream of notifications that a stateless client asked for.
  struct Listener {
    bool wants_resources = false;  ///< that the list of them changed
    std::set<std::string> uris;
  };
  struct Question {
    bool is_answered = false;
    nlohmann::json answer;
  };
  using Task = std::shared_ptr<Running>;

  // --- what comes in (server.cc) ----------------------------------------------------------------
  void take_request(RpcMessage message);
  void take_notification(const RpcMessage& message);
  void take_response(RpcMessage message);
  std::variant<Era, RpcError> era_of(const RpcMessage& message) const;
  McpAnswer initialize(const nlohmann::json& params);
  bool answer_at_once(const RpcMessage& message, const Era& era);
  void enqueue(Task task);
  void cancel(const nlohmann::json& params);

  // --- what goes out (server_answers.cc) --------------------------------------------------------
  void work();
  void run(const Task& task);
  McpAnswer answer(Running& task, Request& request);
  McpAnswer list(const Running& task, const char* member,
                 std::vector<nlohmann::ordered_json> items) const;
  McpAnswer call_tool(const Running& task, Request& request);
  McpAnswer complete(const Running& task);
  McpAnswer discover() const;
  void finish_answer(const Running& task, nlohmann::ordered_json& result) const;
  [[nodiscard]] nlohmann::ordered_json server_info() const;
  [[nodiscard]] static nlohmann::ordered_json capabilities(bool is_stateless);
  void send(const std::string& line);
  void reply(const RpcId& id, const McpAnswer& answer);

  // --- subscriptions (server_subscriptions.cc) --------------------------------------------------
  McpAnswer subscribe(const nlohmann::json& params, bool is_on);
  void listen(const RpcMessage& message);
  void changed(std::string_view uri);
  void end_listeners();

  McpFeatures* features_;
  const Clock* clock_;
  Send send_;
  RequestState states_;
  std::mutex send_mutex_;

  mutable std::mutex mutex_;  ///< guards everything below
  std::condition_variable wake_;
  std::deque<Task> waiting_;
  std::map<RpcId, Task> running_;  ///< waiting ones, too
  std::vector<std::thread> workers_;
  size_t idle_ = 0;
  std::map<RpcId, Question> questions_;  ///< that the client was asked
  int64_t last_question_ = 0;
  std::map<RpcId, Listener> listeners_;
  std::set<std::string> subscribed_;  ///< of the handshake era
  bool is_initialized_ = false;
  bool is_over_ = false;
  nlohmann::json client_capabilities_ = nlohmann::json::object();  ///< of the handshake era
  std::string log_level_ = "info";                                 ///< of the handshake era
};

}  // namespace galley
