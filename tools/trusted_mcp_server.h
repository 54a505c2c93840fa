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

#include "base/content_id.h"
#include "base/result.h"

namespace galley {

/// A server of the Model Context Protocol that a person lets a workspace ask: how it is started,
/// what it may do, and the definitions of its tools as they were when the person said yes
/// (docs/mcp-servers.md).
///
/// A value.
struct TrustedMcpServer {
  static constexpr std::chrono::milliseconds kUsualServerTime{10'000};  ///< for one call
  static constexpr size_t kMaxRecordBytes = size_t{2} << 20U;
  static constexpr size_t kMaxServerWords = 256;  ///< of the command, or names in one list

  std::string name;  ///< the namespace of its tools: `docs` of `docs.search`
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::vector<std::string> readable;  ///< absolute folders that it sees, read-only
  std::vector<std::string> secrets;   ///< names of those that its environment gets
  bool uses_network = false;          ///< the host's, all of it
  bool writes = true;                 ///< what it writes is staged; else it is dropped
  std::chrono::milliseconds timeout = kUsualServerTime;
  std::optional<uint64_t> memory_bytes;     ///< of all its processes
  std::string version;                      ///< of the protocol, as it was agreed on
  std::vector<nlohmann::json> definitions;  ///< of its tools, as McpReply has them
  int64_t given_ns = 0;                     ///< when the person said yes

  /// Errors: kInvalid `tool.name`, `mcp.command`, `mcp.environment`, `mcp.readable`: what a person
  ///         typed cannot be used.
  [[nodiscard]] Result<void> check() const;
  /// Of all that was trusted; the time is not part of it.
  [[nodiscard]] ContentId hash() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  /// Nothing where `document` is none of to_json().
  [[nodiscard]] static std::optional<TrustedMcpServer> from_json(const nlohmann::json& document);

  /// Whether the server's tools are still those that were trusted.
  /// Errors: kRefused `tool.definition_changed`, which names the first that are not.
  [[nodiscard]] Result<void> check_definitions(const std::vector<nlohmann::json>& now) const;
  /// What has become of the definitions, a line each: `+ name`, `- name`, `~ name: descriptions`.
  [[nodiscard]] std::vector<std::string> changes_to(const std::vector<nlohmann::json>& now) const;

  /// One of its tools as Galley has tools. The server's hints lower no risk: what a call may do
  /// follows from this record alone.
  /// Errors: kInvalid `tool.name`, `tool.schema`.
  [[nodiscard]] Result<ToolInfo> tool_info(const nlohmann::json& definition) const;
};

}  // namespace galley
