#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/rpc_message.h"

namespace galley {

/// What a client of the Model Context Protocol asks a server in one dialogue.
struct McpErrand {
  /// One call, made when the definitions were found to be as they should.
  struct Call {
    std::string tool;  ///< by the server's own name
    nlohmann::json arguments = nlohmann::json::object();
  };
  std::string version;       ///< of the protocol; empty: ask the server which ones it speaks
  bool skips_probe = false;  ///< where `version` is empty: the server does not take the question
  std::string root;          ///< absolute path of the workspace, told to who asks for roots
  std::optional<Call> call;  ///< absent: only the definitions are wanted
  /// Judges the definitions, each time they were read; the dialogue ends with its error.
  std::function<Result<void>(const std::vector<nlohmann::json>&)> check;
  std::function<void(const std::string&)> on_log;  ///< a line that the server logs; may be empty
};

/// What a server said.
struct McpReply {
  std::string version;                      ///< of the protocol, as it was agreed on
  std::string server;                       ///< what the server calls itself, with its version
  std::vector<nlohmann::json> definitions;  ///< of its tools, by name, without `_meta`
  nlohmann::json result = nullptr;          ///< of the call: an object
};

/// One dialogue of a client with a server of the Model Context Protocol, without any I/O: what the
/// server wrote goes in, what to write to it comes out. Both eras are spoken (mcp.md).
///
///     probe ─► initialize ─► list … ─► call ─► list again, if it said that the list changed
///        '────────────────────▲                                                       │
///     any: garbage, an answer that nobody asked for, too much of something ─► over ◄───'
///
/// Invariant: what is held of a server is bounded; each of its requests is answered once; nothing
///            is called before the definitions were judged.
/// Threads:   confined to one thread.
/// Errors:    kIo `tool.output` for what is no answer as the protocol has it; kQuota
///            `limit.tool_output`, `limit.mcp_tools`; kIo `tool.failed` when it says no;
///            those of McpErrand::check.
class McpDialogue {
 public:
  static constexpr size_t kMaxMcpMessageBytes = size_t{8} << 20U;    ///< of one message
  static constexpr size_t kMaxMcpDialogueBytes = size_t{16} << 20U;  ///< of all its messages
  static constexpr size_t kMaxMcpTools = 256;                        ///< of one server
  static constexpr size_t kMaxListPages = 64;                        ///< of one list of tools
  static constexpr size_t kMaxServerRequests = 64;  ///< that a server makes in one dialogue
  static constexpr size_t kMaxListReadings = 4;     ///< a list that changes on and on is none

  explicit McpDialogue(McpErrand errand) : errand_(std::move(errand)) {}

  /// What is written first.
  [[nodiscard]] std::string begin();
  /// Takes what the server wrote, in pieces of any size, and returns what is to be written to it.
  [[nodiscard]] std::string take(std::string_view piece);
  /// Whether nothing more is to be said: the server's input may end.
  [[nodiscard]] bool is_over() const { return step_ == Step::kOver; }
  /// What came of it: an error while it is not over, too.
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
  void take_result(RpcMessage message);
  void judge_list();
  void ask(std::string_view method, nlohmann::ordered_json params, Step step);
  void ask_initialize();
  void ask_list(Step step);
  void ask_call();
  void end(Error error);
  void end_garbage(const std::string& clause);

  McpErrand errand_;
  Step step_ = Step::kProbe;
  McpReply reply_;
  std::optional<Error> error_;
  std::string out_;
  std::string pending_;
  size_t taken_ = 0;     ///< of all that the server wrote
  size_t searched_ = 0;  ///< no line end in so many bytes of `pending_`
  int64_t last_id_ = 0;
  bool is_stateless_ = false;
  bool list_changed_ = false;
  size_t pages_ = 0;
  size_t readings_ = 0;
  size_t requests_ = 0;
};

}  // namespace galley
