#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace galley {

class ConfigTable;
struct TrustPart;

/// `[tools.NAME]`: how tools of this name run.
struct ToolConfig {
  bool is_enabled = true;
  uint32_t timeout_ms = 0;           ///< of one call; 0: that of the tool
  uint64_t max_memory_bytes = 0;     ///< of all its programs; 0: the value of `[sandbox]`
  uint32_t max_concurrent = 10;      ///< calls at once in this process
  uint32_t max_queued = 100;         ///< calls that wait until one of these ends
  uint32_t calls_per_minute = 0;     ///< 0: no limit
  uint32_t cool_down_ms = 60'000;    ///< how long calls are refused after the last excess call
  bool is_cached = true;             ///< only if the tool allows caching
  std::vector<std::string> secrets;  ///< the tool's secrets; empty: all that the caller provides
  std::map<std::string, std::string> config;  ///< its own settings, passed when it is created
  uint32_t line = 0;
  /// The configuration is not trusted: values above a tool's own limit are ignored.
  bool only_narrows = false;
};

/// The maximum number of tables: they are read when a workspace is opened.
inline constexpr size_t kMaxToolTables = 1'000;
/// The maximum rate: the time of each call is remembered.
inline constexpr uint32_t kMaxCallsPerMinute = 100'000;

/// Reads one table and refuses invalid values.
void read_tool(ConfigTable& table, ToolConfig& tool);

/// Adds the entries of the tables that need trust: limits above the defaults, and the settings that
/// a tool receives.
void add_tools(const std::map<std::string, ToolConfig>& tools, TrustPart& part);
/// Removes all entries that need trust.
void remove_untrusted(std::map<std::string, ToolConfig>& tools);

}  // namespace galley
