#pragma once

#include <galley/tool.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace galley {

/// A server of the Model Context Protocol that a person trusts for a workspace: how to start or
/// reach it, its permissions, and the definitions of its tools when the person trusted it
/// (docs/agents.md).
///
/// A value.
struct TrustedMcpServer {
  static constexpr std::chrono::milliseconds kUsualServerTime{10'000};  ///< for one call
  static constexpr size_t kMaxRecordBytes = size_t{2} << 20U;  ///< the record of a trusted server
  static constexpr size_t kMaxServerWords = 256;   ///< words of its command, or names in one list
  static constexpr size_t kMaxUrlBytes = 2048;     ///< the URL of an MCP server
  static constexpr size_t kMaxHeaderBytes = 8192;  ///< the value of a header for an MCP server

  std::string name;  ///< the namespace of its tools: `docs` of `docs.search`
  std::vector<std::string> command;
  std::string url;  ///< asked over HTTP instead of started: then `command` is empty
  /// Sent with each request over HTTP. `$ENV.NAME` stands for the secret of that name.
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> environment;
  std::vector<std::string> readable;  ///< absolute folders that it can read
  std::vector<std::string> secrets;   ///< names of the secrets in its environment
  bool uses_network = false;          ///< the whole network of the host
  bool writes = true;                 ///< its writes are staged; else they are dropped
  std::chrono::milliseconds timeout = kUsualServerTime;
  std::optional<uint64_t> memory_bytes;     ///< of all its processes
  std::string version;                      ///< of the protocol, as agreed
  std::vector<nlohmann::json> definitions;  ///< of its tools, as in McpReply
  int64_t given_ns = 0;                     ///< when the person trusted it

  /// Errors: kInvalid `tool.name`, `mcp.command`, `mcp.environment`, `mcp.readable`, `mcp.url`,
  ///         `mcp.header`: the person's input cannot be used.
  [[nodiscard]] Result<void> check() const;
  /// The host of `url`, with its port if it names one.
  [[nodiscard]] std::string host() const;
  /// The hash of everything that was trusted, without the time.
  [[nodiscard]] ContentId hash() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  /// Returns nullopt when `document` does not come from to_json().
  [[nodiscard]] static std::optional<TrustedMcpServer> from_json(const nlohmann::json& document);

  /// Whether the server's tools are still the trusted ones.
  /// Errors: kRefused `tool.definition_changed`, which names the first changed tools.
  [[nodiscard]] Result<void> check_definitions(const std::vector<nlohmann::json>& now) const;
  /// Changes of the definitions, one line each: `+ name`, `- name`, `~ name: descriptions`.
  [[nodiscard]] std::vector<std::string> changes_to(const std::vector<nlohmann::json>& now) const;

  /// One of its tools as a tool of Galley. The server's hints cannot lower the risk: permissions
  /// follow from this record alone.
  /// Errors: kInvalid `tool.name`, `tool.schema`.
  [[nodiscard]] Result<ToolInfo> tool_info(const nlohmann::json& definition) const;
};

/// Whether HTTP takes this as the name of a header (RFC 9110, section 5.6.2).
[[nodiscard]] bool is_http_token(std::string_view name);

/// A header's value with the secrets that it names. An unknown name stays as it is.
[[nodiscard]] std::string with_secrets(const std::string& value,
                                       const std::map<std::string, std::string>& secrets);

}  // namespace galley
