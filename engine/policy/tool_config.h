#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

class ConfigTable;
struct TrustPart;

/// `[tools.NAME]`: how the tools of one name are run.
struct ToolConfig {
  bool is_enabled = true;
  uint32_t timeout_ms = 0;           ///< of one call; 0: what the tool has
  uint64_t max_memory_bytes = 0;     ///< of its programs together; 0: what `[sandbox]` has
  uint32_t max_concurrent = 10;      ///< calls at once in this process
  uint32_t max_queued = 100;         ///< calls that wait for one of these to end
  uint32_t calls_per_minute = 0;     ///< 0: no limit
  uint32_t cool_down_ms = 60'000;    ///< refused for so long after the last call that was too much
  bool is_cached = true;             ///< where the tool says that it can be
  std::vector<std::string> secrets;  ///< those it may be told; empty: what the caller provides
  std::map<std::string, std::string> config;  ///< its own, given to it when it is made
  uint32_t line = 0;
  /// Nobody trusted this configuration: what is above a tool's own limit does not count.
  bool only_narrows = false;
};

/// More tables than this are refused: they are looked at when a workspace is opened.
inline constexpr size_t kMaxToolTables = 1'000;
/// Calls a minute are remembered one by one.
inline constexpr uint32_t kMaxCallsPerMinute = 100'000;

/// Reads one table; what makes no sense is refused there.
void read_tool(ConfigTable& table, ToolConfig& tool);

/// What of the tables has to be trusted: limits above what a tool may have had anyway, and what is
/// handed to it as its configuration.
void add_tools(const std::map<std::string, ToolConfig>& tools, TrustPart& part);
/// Leaves what narrows.
void take_trust_away(std::map<std::string, ToolConfig>& tools);
/// Whether a key of `[tools.NAME]` executes or widens, for some value of it.
[[nodiscard]] bool is_trusted_tool_key(std::string_view key);

}  // namespace galley
