#include "tools/tool_definition.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxNameBytes = 64;  // accepted by the common model interfaces

tl::unexpected<Error> flaw(const ToolInfo& info, std::string reason, const std::string& what) {
  return fail(ErrorKind::kInvalid, std::move(reason), "the tool '" + info.name + "' " + what);
}

/// The words of Category and of Risk, in the order of their values.
constexpr std::array<std::string_view, 4> kCategories = {"direct", "api", "mcp", "system"};
constexpr std::array<std::string_view, 4> kRisks = {"low", "medium", "high", "critical"};

template <class Value>
std::optional<Value> value_named(const std::array<std::string_view, 4>& words,
                                 std::string_view word) {
  const auto* const found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return {};
  return static_cast<Value>(found - words.begin());
}

Result<void> check_other_tools(const ToolInfo& info) {
  if (!info.rollback_tool.empty() && !is_tool_name(info.rollback_tool)) {
    return flaw(info, "tool.rollback",
                "names '" + info.rollback_tool + "' to take its calls back, which is not a name");
  }
  if (info.successor.empty()) return {};
  if (info.deprecated.empty()) {
    return flaw(info, "tool.successor", "has a successor and does not say why it goes");
  }
  if (!is_tool_name(info.successor) || info.successor == info.name) {
    return flaw(info, "tool.successor",
                "gives way to '" + info.successor + "', which is not a name of another tool");
  }
  return {};
}

Result<void> check_limits(const ToolInfo& info) {
  if (info.timeout && info.timeout->count() <= 0) {
    return flaw(info, "tool.limit", "has no time: leave the timeout out, or make it longer");
  }
  if (info.max_memory_bytes &&
      (*info.max_memory_bytes == 0 || *info.max_memory_bytes > kMaxAllToolsBytes)) {
    return flaw(info, "tool.limit",
                "may state 1 to " + std::to_string(kMaxAllToolsBytes) + " bytes of memory, not " +
                    std::to_string(*info.max_memory_bytes));
  }
  return {};
}

Result<void> check_examples(const ToolInfo& info, const JsonSchema& input) {
  for (size_t i = 0; i < info.examples.size(); ++i) {
    const std::string which = "has an example (number " + std::to_string(i + 1) + ") that ";
    const auto args = parse_json(info.examples[i]);
    if (!args) return flaw(info, "tool.example", which + "is not JSON: " + args.error().message);
    if (const auto violations = input.check(*args); !violations.empty()) {
      return flaw(info, "tool.example", which + "its schema refuses: " + describe(violations));
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(ToolInfo::Category category) {
  return kCategories.at(static_cast<size_t>(category));
}

std::optional<ToolInfo::Category> category_named(std::string_view word) {
  return value_named<ToolInfo::Category>(kCategories, word);
}

std::string_view to_string(ToolInfo::Risk risk) { return kRisks.at(static_cast<size_t>(risk)); }

std::optional<ToolInfo::Risk> risk_named(std::string_view word) {
  return value_named<ToolInfo::Risk>(kRisks, word);
}

bool is_semantic_version(std::string_view text) {
  static const re2::RE2 kVersion(
      R"((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))"
      R"((?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?)"
      R"((?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)");
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kVersion);
}

milliseconds usual_timeout(ToolInfo::Category category) {
  switch (category) {
    case ToolInfo::Category::kDirect:
      return milliseconds(5'000);
    case ToolInfo::Category::kApi:
    case ToolInfo::Category::kMcp:
      return milliseconds(10'000);
    case ToolInfo::Category::kSystem:
      break;
  }
  return kUsualToolTime;
}

milliseconds latency_target(ToolInfo::Category category) {
  switch (category) {
    case ToolInfo::Category::kDirect:
      return milliseconds(1'000);
    case ToolInfo::Category::kApi:
    case ToolInfo::Category::kMcp:
      return milliseconds(3'000);
    case ToolInfo::Category::kSystem:
      break;
  }
  return milliseconds(2'000);
}

milliseconds timeout_of(const ToolInfo& info) {
  return info.timeout.value_or(usual_timeout(info.category));
}

uint64_t memory_limit_of(const ToolInfo& info) {
  return info.max_memory_bytes.value_or(kMaxToolCallBytes);
}

std::string namespace_of(const ToolInfo& info) {
  if (!info.namespace_name.empty()) return info.namespace_name;
  const size_t dot = info.name.rfind('.');
  return dot == std::string::npos ? std::string() : info.name.substr(0, dot);
}

bool is_tool_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '-' || c == '.';
  });
}

Result<void> check_definition(const ToolInfo& info, const JsonSchema& input) {
  if (!is_tool_name(info.name)) {
    return fail(ErrorKind::kInvalid, "tool.name",
                "'" + info.name + "' is not a name for a tool: 1 to 64 of A-Z a-z 0-9 _ - .");
  }
  if (is_blank(info.description, kPlainSpaces)) {
    return flaw(info, "tool.description",
                "has no description: say in a sentence what it does, models choose by it");
  }
  if (!is_semantic_version(info.version)) {
    return flaw(info, "tool.version",
                "has the version '" + info.version + "', which is not a version such as 1.0.0");
  }
  if (!info.namespace_name.empty() && !is_tool_name(info.namespace_name)) {
    return flaw(info, "tool.namespace",
                "has the namespace '" + info.namespace_name + "': A-Z a-z 0-9 _ - .");
  }
  GALLEY_TRY(check_limits(info));
  GALLEY_TRY(check_other_tools(info));
  return check_examples(info, input);
}

nlohmann::ordered_json definition_json(const ToolInfo& info) {
  using Json = nlohmann::ordered_json;
  Json tool;
  tool["name"] = info.name;
  tool["namespace"] = namespace_of(info);
  tool["title"] = info.title;
  tool["description"] = info.description;
  tool["version"] = info.version;
  tool["category"] = to_string(info.category);
  tool["inputSchema"] = Json::parse(info.input_schema);
  tool["outputSchema"] = Json::parse(info.output_schema);
  auto& annotations = tool["annotations"];
  annotations["readOnlyHint"] = info.annotations.read_only;
  annotations["destructiveHint"] = info.annotations.destructive;
  annotations["idempotentHint"] = info.annotations.idempotent;
  annotations["openWorldHint"] = info.annotations.open_world;
  tool["capabilities"] = info.capabilities;
  tool["riskLevel"] = to_string(info.risk_level);
  tool["securityTier"] = static_cast<int>(info.security_tier);
  tool["requiresConfirmation"] = info.requires_confirmation;
  tool["contextAware"] = info.is_context_aware;
  tool["reversible"] = info.is_reversible;
  if (!info.rollback_tool.empty()) tool["rollbackTool"] = info.rollback_tool;
  tool["timeoutMs"] = timeout_of(info).count();
  tool["maxMemoryBytes"] = memory_limit_of(info);
  tool["examples"] = Json::array();
  for (const std::string& example : info.examples) {
    tool["examples"].push_back(Json::parse(example));
  }
  if (!info.deprecated.empty()) tool["deprecated"] = info.deprecated;
  if (!info.successor.empty()) tool["successor"] = info.successor;
  return tool;
}

}  // namespace galley
