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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "server/mcp/features.h"
#include "server/mcp/request_state.h"
#include "tools/mcp/rpc_message.h"

namespace galley {

/// A server of the Model Context Protocol, in both of its eras: the one with a handshake
/// (`initialize`, up to 2025-11-25), and the stateless one (2026-07-28), in which each request
/// states its version and the client's capabilities. The `_meta` of a request shows its era. The
/// format is that of modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28.
///
///     accept(line) -> dispatch -> queue -> worker -> features -> send(answer)
///                      |                   |
///                      |                   +-- ask(): question to the client, or input_required
///                      +-- ping, cancelled, answers to our questions: at once
///
/// If no other request waits or is in progress, the thread that has read a request also handles it,
/// because waking another thread costs more than most calls. A second thread watches it, and takes
/// over reading when the request takes long.
///
/// Invariant: a request gets one answer, or none when it was cancelled before it had an effect; no
///            input ends the server, and the state that it keeps for a client is bounded. Requests
///            of one lane (McpFeatures::arrive) are handled in order, one at a time; while one
///            waits for the client's answer, later ones that only read go first.
/// Ownership: borrows features and clock; owns its threads.
/// Threads:   serve(), take() and leave() are called from one thread, lose() from any, also by
///            `send`, and finish() from any, after them; `send` is called from several, one at a
///            time.
class McpServer {
 public:
  /// Where a message came from. Both are numbers of the caller, and 0 on a pipe.
  struct Origin {
    uint64_t client = 0;  ///< ids of requests are unique for one client
    uint64_t stream = 0;  ///< for the messages about its request
  };
  /// A message to the client.
  struct Outgoing {
    /// Without a line end. Empty: a cancelled request with a stream of its own, which gets no
    /// answer, has ended.
    std::string line;
    uint64_t stream = 0;      ///< of the request that it is about; 0 also for a message about none
    bool is_last = false;     ///< it is the answer: nothing more follows about the request
    int error = 0;            ///< the code of an answer that is an error
    bool is_refused = false;  ///< the request was not handled
  };
  using Send = std::function<void(const Outgoing& message)>;
  /// A line from the client, and whether another one is already available.
  struct Line {
    std::string text;
    bool is_too_long = false;  ///< `text` and `end` are its beginning and its end
    bool has_next = false;
    std::string end;
  };
  /// Reads the next line; nullopt at the end of the input.
  using Input = std::function<Result<std::optional<Line>>()>;

  /// The maximum size of a message. During its handling it needs up to twelve times as much memory.
  static constexpr size_t kMaxMessageBytes = size_t{16} << 20U;
  /// Requests handled in parallel, of one client or of all stateless clients.
  static constexpr size_t kMaxWorkers = 10;
  /// Calls of tools among them. The other requests are short, so that they need not wait for calls.
  static constexpr size_t kMaxCalls = 8;
  static constexpr size_t kMaxWaiting = 1000;             ///< requests of one client that wait
  static constexpr size_t kMaxSubscriptions = 1000;       ///< subscriptions of one client
  static constexpr size_t kPageItems = 250;               ///< of one page of a list
  static constexpr std::chrono::minutes kAnswerTime{10};  ///< for the client to answer a question
  static constexpr std::chrono::seconds kDrainTime{5};    ///< after the end of the input
  /// While a request takes longer than this, another thread reads on.
  static constexpr std::chrono::milliseconds kReadAgainAfter{2};

  McpServer(McpFeatures& features, const Clock& clock, Send send);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  /// Reads and answers the input to its end; two threads take turns in calling `input`.
  /// Errors: those of `input`.
  Result<void> serve(const Input& input);
  /// Takes one line from the client. Returns without waiting until its request was handled.
  void take(std::string_view line);
  /// The same for a message that was already read (read_message).
  void take(RpcMessage message, Origin origin);
  /// Cancels all requests and subscriptions of a client that has left.
  void leave(uint64_t client);
  /// The connection of a stream is gone: open questions on it get no answer. Their requests go on.
  void lose(uint64_t stream);
  /// The client has disconnected, so open questions get no answer. Stops the remaining requests,
  /// and returns when all have ended.
  void finish();

 private:
  static constexpr std::string_view kCall = "tools/call";
  class Request;
  /// The era of a request: the client's capabilities, and the form of answers.
  struct Era {
    bool is_stateless = false;
    nlohmann::json capabilities = nlohmann::json::object();
  };
  /// Names a request among those of all clients.
  using Key = std::pair<uint64_t, RpcId>;
  struct Running {
    RpcId id;
    Origin origin;
    std::string method;
    nlohmann::json params;
    Era era;
    McpArrival arrival;
    std::stop_source stop;
    std::atomic<bool> is_silent = false;  ///< cancelled: it is not answered, unless it is owed
    bool is_guest = false;                ///< it runs in a lane whose request waits for an answer
    std::atomic<bool> is_owed = false;    ///< it had an effect that its client must know
  };
  /// A stream of notifications that a stateless client asked for.
  struct Listener {
    uint64_t stream = 0;
    bool wants_resources = false;  ///< notify when the list of resources changed
    bool wants_tools = false;      ///< notify when the list of tools changed
    std::set<std::string> uris;
  };
  struct Question {
    uint64_t stream = 0;
    bool is_answered = false;
    nlohmann::json answer = nullptr;
  };
  using Task = std::shared_ptr<Running>;
  /// The two threads of serve(): one reads, and handles what it has read; the other one watches.
  struct Reading {
    int reader = 0;             ///< which of the two is reading
    bool is_at_work = false;    ///< it is handling a request
    uint64_t works = 0;         ///< the number of requests that it has begun
    bool is_unwatched = false;  ///< the other thread sleeps until a request begins
    bool is_over = false;
    Result<void> result;
  };

  // --- reading ----------------------------------------------------------------------------------
  void read_in_turns(int me, const Input& input);
  void wait_to_read(std::unique_lock<std::mutex>& lock, int me);
  void take_line(const Line& line, int me);
  bool begin_here(const Task& task);
  void drain();

  // --- incoming messages ------------------------------------------------------------------------
  Task accept(std::string_view line);
  Task accept(RpcMessage message, Origin origin);
  Task accept_request(RpcMessage message, Origin origin);
  void refuse_long_line(const Line& line);
  void refuse(const std::optional<RpcId>& id, const RpcError& error, Origin origin);
  [[nodiscard]] bool is_in_progress(const Key& key) const;
  void take_notification(const RpcMessage& message, Origin origin);
  void take_response(RpcMessage message);
  std::variant<Era, RpcError> era_of(const RpcMessage& message) const;
  McpAnswer initialize(const nlohmann::json& params);
  bool answer_at_once(const RpcMessage& message, const Era& era, Origin origin);
  void enqueue(Task task);
  void cancel(const nlohmann::json& params, Origin origin);
  void stop(const std::vector<Task>& tasks);

  // --- answers ---------------------------------------------------------------------------------
  void work();
  Task next_task();
  bool leave(const Running& task);
  McpAnswer run(Running& task);
  McpAnswer answer(Running& task, Request& request);
  McpAnswer list(const Running& task, const char* member,
                 std::vector<nlohmann::ordered_json> items) const;
  McpAnswer call_tool(const Running& task, Request& request);
  McpAnswer complete(const Running& task);
  McpAnswer discover() const;
  void finish_answer(const Running& task, nlohmann::ordered_json& result) const;
  [[nodiscard]] nlohmann::ordered_json server_info() const;
  [[nodiscard]] static nlohmann::ordered_json capabilities(bool is_stateless);
  void send(const Outgoing& message);
  void reply(const RpcId& id, Origin origin, McpAnswer answer);
  void end(const Running& task, bool is_wanted, McpAnswer answer);

  // --- subscriptions ----------------------------------------------------------------------------
  McpAnswer subscribe(const nlohmann::json& params, bool is_on);
  void listen(const RpcMessage& message, Origin origin);
  bool add_listener(const Key& key, Listener listener);
  void changed(std::string_view uri);
  void end_listeners();

  McpFeatures* features_;
  const Clock* clock_;
  Send send_;
  RequestState states_;
  std::mutex send_mutex_;  ///< locked before `mutex_`, never while holding it: a client may not
                           ///< read

  mutable std::mutex mutex_;      ///< guards everything below
  std::condition_variable wake_;  ///< answers to our questions, and the end
  std::condition_variable work_;  ///< requests for a worker, and the end
  std::deque<Task> waiting_;
  std::map<Key, Task> running_;         ///< includes waiting ones
  std::set<std::string> busy_lanes_;    ///< lanes of requests in progress
  std::set<std::string> asking_lanes_;  ///< those whose request waits for the client's answer
  size_t calls_ = 0;                    ///< calls of tools in progress
  Reading reading_;
  std::condition_variable watch_;  ///< of the watching thread
  std::vector<std::thread> workers_;
  size_t idle_ = 0;  ///< workers that take the next request, now or after their answer is sent
  std::map<RpcId, Question> questions_;  ///< to the client
  int64_t last_question_ = 0;
  std::map<Key, Listener> listeners_;
  std::set<std::string> subscribed_;  ///< of the handshake era
  bool is_initialized_ = false;
  bool is_over_ = false;                                           ///< the client has disconnected
  bool is_finished_ = false;                                       ///< the workers have ended
  nlohmann::json client_capabilities_ = nlohmann::json::object();  ///< of the handshake era
  std::string log_level_ = "info";                                 ///< of the handshake era
};

}  // namespace galley
