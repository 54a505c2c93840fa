#include "engine/policy/tool_config.h"

#include <fmt/core.h>

#include "engine/policy/config_table.h"
#include "engine/policy/toml_document.h"
#include "engine/policy/trust_part.h"

namespace galley {
namespace {

/// Every category of tools has at least this time: a timeout up to it cannot widen anything.
constexpr uint32_t kLeastTimeoutMs = 5'000;

bool widens_time(const ToolConfig& tool) { return tool.timeout_ms > kLeastTimeoutMs; }
/// Above the sandbox's default memory of a command.
bool widens_memory(const ToolConfig& tool) {
  return tool.max_memory_bytes > SandboxConfig().max_memory_bytes;
}
bool widens_calls(const ToolConfig& tool) {
  return tool.max_concurrent > ToolConfig().max_concurrent;
}
bool widens_queue(const ToolConfig& tool) { return tool.max_queued > ToolConfig().max_queued; }

}  // namespace

void read_tool(ConfigTable& table, ToolConfig& tool) {
  tool.line = table.line();
  table.flag("enabled", tool.is_enabled);
  table.count("timeout_ms", tool.timeout_ms);
  table.size("max_memory_bytes", tool.max_memory_bytes);
  table.count("max_concurrent", tool.max_concurrent);
  if (tool.max_concurrent == 0) return table.refuse("max_concurrent", "must be at least 1");
  table.count("max_queued", tool.max_queued);
  table.count("calls_per_minute", tool.calls_per_minute);
  if (tool.calls_per_minute > kMaxCallsPerMinute) {
    return table.refuse("calls_per_minute",
                        fmt::format("must lie between 0 and {}", kMaxCallsPerMinute));
  }
  table.count("cool_down_ms", tool.cool_down_ms);
  table.flag("cache", tool.is_cached);
  table.texts("secrets", tool.secrets);
  table.text_map("config", tool.config);
}

void add_tools(const std::map<std::string, ToolConfig>& tools, TrustPart& part) {
  for (const auto& [name, tool] : tools) {
    const std::string quoted = toml_quoted(name);
    const auto add = [&](std::string_view key, const std::string& value,
                         const std::string& summary) {
      part.entries.push_back({fmt::format("{} for the tool {}", summary, quoted),
                              fmt::format("tools.{}.{} = {}\n", quoted, key, value)});
    };
    if (widens_time(tool)) add("timeout_ms", std::to_string(tool.timeout_ms), "more time");
    if (widens_memory(tool)) {
      add("max_memory_bytes", std::to_string(tool.max_memory_bytes), "more memory");
    }
    if (widens_calls(tool)) {
      add("max_concurrent", std::to_string(tool.max_concurrent), "more calls at once");
    }
    if (widens_queue(tool)) add("max_queued", std::to_string(tool.max_queued), "a longer queue");
    if (!tool.config.empty()) add("config", toml_inline_table(tool.config), "a configuration");
  }
}

void remove_untrusted(std::map<std::string, ToolConfig>& tools) {
  for (auto& [name, tool] : tools) {
    tool.only_narrows = true;
    if (widens_memory(tool)) tool.max_memory_bytes = 0;
    if (widens_calls(tool)) tool.max_concurrent = ToolConfig().max_concurrent;
    if (widens_queue(tool)) tool.max_queued = ToolConfig().max_queued;
    tool.config.clear();
  }
}

}  // namespace galley
