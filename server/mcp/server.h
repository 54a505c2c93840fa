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
#include "base/result.h"
#include "server/mcp/features.h"
#include "server/mcp/request_state.h"
#include "tools/mcp/rpc_message.h"

namespace galley {

/// A server of the Model Context Protocol, in both eras of it: the one with a handshake
/// (`initialize`, up to 2025-11-25), and the stateless one (2026-07-28), in which each request says
/// its version and what the client can do. Which one a request belongs to shows in its `_meta`.
/// The format is that of modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28.
///
///     accept(line) -> dispatch -> queue -> worker -> features -> send(answer)
///                      |                   |
///                      |                   +-- ask(): question to the client, or input_required
///                      +-- ping, cancelled, answers to our questions: at once
///
/// A request that comes alone is worked on by the thread that has read it: waking another one costs
/// more than most calls. A second thread looks on, and reads in its place when it takes long.
///
/// Invariant: a request gets one answer, or none when it was cancelled; nothing that comes in ends
///            the server, and what it keeps of a client is bounded. Requests of one lane
///            (McpFeatures::lane_of) are worked on in the order in which they came, one at a time.
/// Ownership: borrows features and clock; owns its threads.
/// Threads:   serve(), take() and finish() are called from one thread; `send` is called from
///            several, one at a time.
class McpServer {
 public:
  using Send = std::function<void(const std::string& line)>;
  /// What came from the client: a line, and whether another one is there already.
  struct Line {
    std::string text;
    bool is_too_long = false;
    bool has_next = false;
  };
  /// The next line; nothing at the end of the input.
  using Input = std::function<Result<std::optional<Line>>()>;

  /// One message of a client. In memory it takes up to twelve times as much while it is worked on.
  static constexpr size_t kMaxMessageBytes = size_t{16} << 20U;
  static constexpr size_t kMaxWorkers = 8;           ///< requests that are worked on side by side
  static constexpr size_t kMaxWaiting = 1000;        ///< requests that wait for one of them
  static constexpr size_t kMaxSubscriptions = 1000;  ///< of one client, all kinds together
  static constexpr size_t kPageItems = 250;          ///< of one answer to a list
  static constexpr std::chrono::minutes kAnswerTime{10};  ///< for the client to answer a question
  static constexpr std::chrono::seconds kDrainTime{5};    ///< after the end of the input
  /// A request that takes longer does not keep others from being read.
  static constexpr std::chrono::milliseconds kReadAgainAfter{2};

  McpServer(McpFeatures& features, const Clock& clock, Send send);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  /// Reads the input to its end and answers it; `input` is called from two threads in turns.
  /// Errors: those of `input`.
  Result<void> serve(const Input& input);
  /// Takes one line from the client, and returns before it is answered.
  void take(std::string_view line);
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
    std::string lane;  ///< see McpFeatures::lane_of
    std::stop_source stop;
    std::atomic<bool> is_silent = false;  ///< cancelled: it gets no answer
  };
  /// A stream of notifications that a stateless client asked for.
  struct Listener {
    bool wants_resources = false;  ///< that the list of them changed
    bool wants_tools = false;      ///< that theirs did
    std::set<std::string> uris;
  };
  struct Question {
    bool is_answered = false;
    nlohmann::json answer;
  };
  using Task = std::shared_ptr<Running>;
  /// The two threads of serve(): one reads, and works on what it has read; one looks on.
  struct Reading {
    int reader = 0;             ///< which of the two reads
    bool is_at_work = false;    ///< it works on a request
    uint64_t works = 0;         ///< how many it has begun
    bool is_unwatched = false;  ///< the other one sleeps until something is begun
    bool is_over = false;
    Result<void> result;
  };

  // --- what is read (server_input.cc) -----------------------------------------------------------
  void read_in_turns(int me, const Input& input);
  void look_on(std::unique_lock<std::mutex>& lock, int me);
  void take_line(const Line& line, int me);
  bool begin_here(const Task& task);
  void drain();

  // --- what comes in (server.cc) ----------------------------------------------------------------
  Task accept(std::string_view line);
  Task accept_request(RpcMessage message);
  void refuse_long_line();
  void refuse(std::optional<RpcId> id, const RpcError& error);
  [[nodiscard]] bool is_worked_on(const RpcId& id) const;
  void take_notification(const RpcMessage& message);
  void take_response(RpcMessage message);
  std::variant<Era, RpcError> era_of(const RpcMessage& message) const;
  McpAnswer initialize(const nlohmann::json& params);
  bool answer_at_once(const RpcMessage& message, const Era& era);
  void enqueue(Task task);
  void cancel(const nlohmann::json& params);

  // --- what goes out (server_answers.cc) --------------------------------------------------------
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
  void send(const std::string& line);
  void reply(const RpcId& id, McpAnswer answer);

  // --- subscriptions (server_subscriptions.cc) --------------------------------------------------
  McpAnswer subscribe(const nlohmann::json& params, bool is_on);
  void listen(const RpcMessage& message);
  bool add_listener(const RpcId& id, Listener listener);
  void changed(std::string_view uri);
  void end_listeners();

  McpFeatures* features_;
  const Clock* clock_;
  Send send_;
  RequestState states_;
  std::mutex send_mutex_;  ///< taken before `mutex_`, never under it: a client may not read

  mutable std::mutex mutex_;      ///< guards everything below
  std::condition_variable wake_;  ///< answers to our questions, and the end
  std::condition_variable work_;  ///< requests for a worker, and the end
  std::deque<Task> waiting_;
  std::map<RpcId, Task> running_;     ///< waiting ones, too
  std::set<std::string> busy_lanes_;  ///< of what is worked on
  Reading reading_;
  std::condition_variable watch_;  ///< of the thread that looks on
  std::vector<std::thread> workers_;
  size_t idle_ = 0;  ///< workers that take the next request, or will when their answer is out
  std::map<RpcId, Question> questions_;  ///< that the client was asked
  int64_t last_question_ = 0;
  std::map<RpcId, Listener> listeners_;
  std::set<std::string> subscribed_;  ///< of the handshake era
  bool is_initialized_ = false;
  bool is_over_ = false;                                           ///< the client is gone
  bool is_finished_ = false;                                       ///< so are the workers
  nlohmann::json client_capabilities_ = nlohmann::json::object();  ///< of the handshake era
  std::string log_level_ = "info";                                 ///< of the handshake era
};

}  // namespace galley
