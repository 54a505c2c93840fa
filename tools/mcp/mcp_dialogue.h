#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/mcp/rpc_message.h"

namespace galley {

/// The requests of a client of the Model Context Protocol to a server in one dialogue.
struct McpClientTask {
  /// One call, made after `check` has accepted the definitions.
  struct Call {
    std::string tool;  ///< by the server's own name
    nlohmann::json arguments = nlohmann::json::object();
  };
  std::string version;       ///< of the protocol; empty: ask the server for its versions
  bool skips_probe = false;  ///< if `version` is empty: do not ask; the server cannot answer
  std::string root;  ///< absolute path of the workspace, for a server that asks; may be empty
  std::optional<Call> call;  ///< absent: only the definitions are read
  /// Checks the definitions each time they are read; its error ends the dialogue.
  std::function<Result<void>(const std::vector<nlohmann::json>&)> check;
  std::function<void(const std::string&)> on_log;  ///< called with each logged line; may be empty
};

/// The answers of a server.
struct McpReply {
  std::string version;                      ///< of the protocol, as agreed
  std::string server;                       ///< the server's name for itself, with its version
  std::vector<nlohmann::json> definitions;  ///< of its tools, by name, without `_meta`
  nlohmann::json result = nullptr;          ///< of the call: an object
};

/// One dialogue of a client with a server of the Model Context Protocol, without any I/O. It takes
/// the server's output and returns the text to send. It speaks both eras (docs/agents.md).
///
///     probe ─► initialize ─► list … ─► call ─► list again, if it said that the list changed
///        '────────────────────▲                                                       │
///     any: garbage, an answer without a request, too much of something ─────► over ◄───'
///
/// Invariant: the data kept of a server is bounded; each of its requests is answered once; nothing
///            is called before the definitions were checked.
/// Threads:   confined to one thread.
/// Errors:    kIo `tool.output` when an answer does not follow the protocol; kQuota
///            `limit.tool_output`, `limit.mcp_tools`; kIo `tool.failed` when the server reports an
///            error; those of McpClientTask::check.
class McpDialogue {
 public:
  static constexpr size_t kMaxMcpMessageBytes = size_t{8} << 20U;  ///< one message of an MCP server
  static constexpr size_t kMaxMcpDialogueBytes = size_t{16} << 20U;  ///< all its messages in a call
  static constexpr size_t kMaxMcpTools = 256;                        ///< tools of one MCP server
  static constexpr size_t kMaxListPages = 64;                        ///< pages of its list of tools
  static constexpr size_t kMaxServerRequests = 64;  ///< requests of an MCP server in one call
  static constexpr size_t kMaxListReadings = 4;     ///< readings of a changing list in one call

  explicit McpDialogue(McpClientTask errand) : errand_(std::move(errand)) {}

  /// The first text to send to the server.
  [[nodiscard]] std::string begin();
  /// Reads output of the server, in pieces of any size. Returns the text to send.
  [[nodiscard]] std::string take(std::string_view piece);
  /// Whether the dialogue is over. Then the server's input may be closed.
  [[nodiscard]] bool is_over() const { return step_ == Step::kOver; }
  /// The agreed version of the protocol; empty before it is known.
  [[nodiscard]] const std::string& version() const { return reply_.version; }
  /// The id of the last request; a larger one means that this one was answered.
  [[nodiscard]] int64_t last_id() const { return last_id_; }
  /// The result; an error also while the dialogue is not over.
  [[nodiscard]] Result<McpReply> outcome() const;

 private:
  enum class Step : uint8_t { kProbe, kInitialize, kList, kCall, kListAgain, kOver };

  void take_line(std::string_view line);
  void take_response(RpcMessage message);
  void take_request(const RpcMessage& message);
  void take_notification(const RpcMessage& message);
  void take_probe(const RpcMessage& message);
  void note_server(const nlohmann::json& from, const char* key);
  void take_hello(const RpcMessage& message);
  void take_page(const RpcMessage& message);
  void take_cursor(const nlohmann::json& page);
  void take_result(RpcMessage message);
  void judge_list();
  void ask(std::string_view method, nlohmann::ordered_json params, Step step);
  void ask_initialize();
  void ask_list(Step step);
  void ask_call();
  void end(Error error);
  void end_garbage(const std::string& clause);

  McpClientTask errand_;
  Step step_ = Step::kProbe;
  McpReply reply_;
  std::optional<Error> error_;
  std::string out_;
  std::string pending_;
  size_t taken_ = 0;     ///< bytes of all output of the server
  size_t searched_ = 0;  ///< the first bytes of `pending_`, known to lack a line end
  int64_t last_id_ = 0;
  bool is_stateless_ = false;
  bool list_changed_ = false;
  size_t pages_ = 0;
  std::set<std::string> cursors_;  ///< asked for in this reading
  bool ended_by_empty_ = false;    ///< the cursor asked for was empty: perhaps there is no page
  size_t readings_ = 0;
  size_t requests_ = 0;
};

}  // namespace galley
