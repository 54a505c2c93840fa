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

/// Values and keys of one message: each takes many times its bytes in memory.
inline constexpr size_t kMaxMessageValues = 250'000;

/// The key in `_meta` under which a request of the stateless era says its version.
inline constexpr const char* kMcpVersionKey = "io.modelcontextprotocol/protocolVersion";
/// The one under which it says what its client can do.
inline constexpr const char* kMcpCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

/// The versions of the Model Context Protocol that a handshake may agree on, oldest first.
[[nodiscard]] const std::vector<std::string>& handshake_versions();
/// The versions of it that need no handshake.
[[nodiscard]] const std::vector<std::string>& stateless_versions();

/// Why a request was not answered with a result.
struct RpcError {
  int code = rpc::kInternalError;
  std::string message;
  nlohmann::ordered_json data = nullptr;  ///< null: none
};

/// One message as it came in. A value.
///
/// Format: JSON-RPC 2.0, one object; of the Model Context Protocol without batches.
struct RpcMessage {
  enum class Kind : uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kNotification;
  RpcId id;                                          ///< of requests and responses
  std::string method;                                ///< of requests and notifications
  nlohmann::json params = nlohmann::json::object();  ///< an object; empty when there are none
  nlohmann::json result = nullptr;                   ///< of a response that is no error
  std::optional<RpcError> error;                     ///< of a response that is one
};

/// Why a line is no message, with the id to answer to, if one could be read.
struct BrokenMessage {
  std::optional<RpcId> id;
  RpcError error;
};

/// Reads one line from a peer that may be hostile: its size, depth and encoding are bounded as of
/// all JSON from outside (tools/json_input.h).
[[nodiscard]] std::variant<RpcMessage, BrokenMessage> read_message(std::string_view line);

// Each of these is one line without its end.
[[nodiscard]] std::string result_line(const RpcId& id, nlohmann::ordered_json result);
/// `id` is left out where it could not be read.
[[nodiscard]] std::string error_line(const std::optional<RpcId>& id, const RpcError& error);
[[nodiscard]] std::string request_line(const RpcId& id, std::string_view method,
                                       const nlohmann::ordered_json& params);
[[nodiscard]] std::string notification_line(std::string_view method,
                                            const nlohmann::ordered_json& params);

}  // namespace galley
