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

/// The word for a category: "direct", "api", "mcp" or "system".
[[nodiscard]] std::string_view to_string(ToolInfo::Category category);
/// The category for a word; nullopt for any other word.
[[nodiscard]] std::optional<ToolInfo::Category> category_named(std::string_view word);
/// The word for a risk: "low", "medium", "high" or "critical".
[[nodiscard]] std::string_view to_string(ToolInfo::Risk risk);
[[nodiscard]] std::optional<ToolInfo::Risk> risk_named(std::string_view word);
/// Whether a text is a version as defined by semver.org 2.0.0.
[[nodiscard]] bool is_semantic_version(std::string_view text);

/// The timeout of a call when neither tool nor caller gives one: 5, 10, 10 and 30 s, in the order
/// of the categories (FaultMaven's table).
[[nodiscard]] std::chrono::milliseconds usual_timeout(ToolInfo::Category category);
/// A call that takes longer gets a warning in its answer: 1, 3, 3 and 2 s.
[[nodiscard]] std::chrono::milliseconds latency_target(ToolInfo::Category category);
/// The timeout that a tool states when its work takes longer than its category allows.
inline constexpr std::chrono::milliseconds kUsualToolTime{30'000};

/// Memory limits of FaultMaven. kMaxToolCallBytes limits the programs of a call, unless the tool
/// states another limit, up to kMaxAllToolsBytes. The memory of this process is only measured:
/// exceeding a limit is a warning.
inline constexpr uint64_t kMaxToolInstanceBytes = uint64_t{50} << 20U;  ///< memory of one tool
inline constexpr uint64_t kMaxToolCallBytes = uint64_t{200} << 20U;     ///< memory of one call
inline constexpr uint64_t kMaxAllToolsBytes = uint64_t{1} << 30U;       ///< the most a tool may ask

/// The timeout of one call unless the caller or its arguments give one.
[[nodiscard]] std::chrono::milliseconds timeout_of(const ToolInfo& info);
/// The memory limit of all programs of one call together.
[[nodiscard]] uint64_t memory_limit_of(const ToolInfo& info);
/// The stated namespace, or the part of the name before its last dot. May be empty.
[[nodiscard]] std::string namespace_of(const ToolInfo& info);

/// Whether this is a valid name for a tool: 1 to 64 of A-Z a-z 0-9 _ - .
[[nodiscard]] bool is_tool_name(std::string_view name);

/// Whether the definition is complete and valid: a name, a description, a semantic version, limits
/// in range, valid names of other tools, examples that `input` accepts.
/// Errors: kInvalid, reason `tool.name`, `tool.description`, `tool.version`, `tool.namespace`,
///         `tool.limit`, `tool.successor`, `tool.rollback`, `tool.example`; each names the tool.
[[nodiscard]] Result<void> check_definition(const ToolInfo& info, const JsonSchema& input);

/// The definition as one tool of docs/json/tools-list.schema.json.
[[nodiscard]] nlohmann::ordered_json definition_json(const ToolInfo& info);

}  // namespace galley
