#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include <galley/tool.h>
#include "base/result.h"
#include "tools/schema.h"

namespace galley {

/// "direct", "api", "mcp", "system"; and the other way, nothing for another word.
[[nodiscard]] std::string_view to_string(ToolInfo::Category category);
[[nodiscard]] std::optional<ToolInfo::Category> category_named(std::string_view word);
/// "low", "medium", "high", "critical"; and the other way.
[[nodiscard]] std::string_view to_string(ToolInfo::Risk risk);
[[nodiscard]] std::optional<ToolInfo::Risk> risk_named(std::string_view word);
/// As semver.org 2.0.0 has it.
[[nodiscard]] bool is_semantic_version(std::string_view text);

/// How long a call may take where neither tool nor caller says: 5, 10, 10 and 30 s, in the order of
/// the categories (FaultMaven's table).
[[nodiscard]] std::chrono::milliseconds usual_timeout(ToolInfo::Category category);
/// Beyond this the answer of a call has a warning: 1, 3, 3 and 2 s.
[[nodiscard]] std::chrono::milliseconds latency_target(ToolInfo::Category category);
/// What a tool that works longer than its category has states as its timeout.
inline constexpr std::chrono::milliseconds kUsualToolTime{30'000};

/// FaultMaven's memory limits. Programs of a call are held to the second, or to what their tool
/// states, at most the third; in this process they are measured, and exceeding one is a warning.
inline constexpr uint64_t kMaxToolInstanceBytes = uint64_t{50} << 20U;
inline constexpr uint64_t kMaxToolCallBytes = uint64_t{200} << 20U;
inline constexpr uint64_t kMaxAllToolsBytes = uint64_t{1} << 30U;

/// How long one call may take unless the caller or its arguments say.
[[nodiscard]] std::chrono::milliseconds timeout_of(const ToolInfo& info);
/// What the programs of one call may take together.
[[nodiscard]] uint64_t memory_limit_of(const ToolInfo& info);
/// The stated namespace, or the part of the name before its last dot; may be empty.
[[nodiscard]] std::string namespace_of(const ToolInfo& info);

/// Whether this is a name for a tool: 1 to 64 of A-Z a-z 0-9 _ - .
[[nodiscard]] bool is_tool_name(std::string_view name);

/// Whether the definition says what it has to: a name, a description, a semantic version, limits
/// that can be held, names of other tools that can be names, examples that `input` takes.
/// Errors: kInvalid, reason `tool.name`, `tool.description`, `tool.version`, `tool.namespace`,
///         `tool.limit`, `tool.successor`, `tool.rollback`, `tool.example`; each names the tool.
[[nodiscard]] Result<void> check_definition(const ToolInfo& info, const JsonSchema& input);

/// The definition as one tool of docs/json/tools-list.schema.json.
[[nodiscard]] nlohmann::ordered_json definition_json(const ToolInfo& info);

}  // namespace galley
