#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace galley {

/// The id of a request: a string or an integer (JSON-RPC 2.0 allows null and fractions; the Model
/// Context Protocol does not).
using RpcId = std::variant<int64_t, std::string>;

[[nodiscard]] nlohmann::ordered_json to_json(const RpcId& id);
/// Nothing for a value that is no id: null, 1.5, a number that an int64_t cannot hold.
[[nodiscard]] std::optional<RpcId> rpc_id(const nlohmann::json& value);

/// Error codes of JSON-RPC 2.0, and those that the Model Context Protocol adds.
namespace rpc {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kMissingCapability = -32021;   ///< since 2026-07-28
inline constexpr int kUnsupportedVersion = -32022;  ///< since 2026-07-28
}  // namespace rpc

/// Values and keys of one message. Each takes many times its size in memory.
inline constexpr size_t kMaxMessageValues = 250'000;

/// The key in `_meta` with the version of a request of the stateless era.
inline constexpr const char* kMcpVersionKey = "io.modelcontextprotocol/protocolVersion";
/// The key in `_meta` with the capabilities of its client.
inline constexpr const char* kMcpCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/// The versions of the Model Context Protocol that a handshake may agree on, oldest first.
[[nodiscard]] const std::vector<std::string>& handshake_versions();
/// The versions of the protocol that need no handshake.
[[nodiscard]] const std::vector<std::string>& stateless_versions();

/// The reason why a request failed.
struct RpcError {
  int code = rpc::kInternalError;
  std::string message;
  nlohmann::ordered_json data = nullptr;  ///< null: none
};

/// One received message. A value.
///
/// Format: JSON-RPC 2.0, one object. Batches are not read: the Model Context Protocol
/// excludes them.
struct RpcMessage {
  enum class Kind : uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kNotification;
  RpcId id;                                          ///< of requests and responses
  std::string method;                                ///< of requests and notifications
  nlohmann::json params = nlohmann::json::object();  ///< an object; empty when absent;
                                                     ///< without members that are null
  nlohmann::json result = nullptr;                   ///< of a successful response
  std::optional<RpcError> error;                     ///< of an error response
};

/// What is known of a message that cannot be read.
struct UnreadMessage {
  nlohmann::json id = nullptr;  ///< null: not found
  bool has_method = false;      ///< a request or a notification
};
/// Looks for the keys of a message, which are at depth 1, whatever is in its other values. The
/// message may be cut at its end.
[[nodiscard]] UnreadMessage unread_message(std::string_view text);
/// The id of a message of which only the end is known; null unless the id is its last member.
[[nodiscard]] nlohmann::json id_at_end(std::string_view end);

/// Why a line is not a message, with the id to answer to if one could be read.
struct BrokenMessage {
  std::optional<RpcId> id;
  RpcError error;
  bool is_answerable = true;  ///< false: a notification or a response, which get no answer
};

/// Reads one line from a peer that may be hostile. Its size, depth and encoding are limited as for
/// all untrusted JSON (tools/json_input.h).
[[nodiscard]] std::variant<RpcMessage, BrokenMessage> read_message(std::string_view line);

// Each function returns one line without its line end.
[[nodiscard]] std::string result_line(const RpcId& id, const nlohmann::ordered_json& result);
/// `id` is left out when it could not be read.
[[nodiscard]] std::string error_line(const std::optional<RpcId>& id, const RpcError& error);
[[nodiscard]] std::string request_line(const RpcId& id, std::string_view method,
                                       const nlohmann::ordered_json& params);
[[nodiscard]] std::string notification_line(std::string_view method,
                                            const nlohmann::ordered_json& params);

}  // namespace galley
