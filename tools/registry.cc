#include "tools/registry.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "tools/output_sanitizer.h"

namespace galley {
namespace {

constexpr size_t kMaxNameBytes = 64;  // what the common model interfaces take

bool is_tool_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Result<JsonSchema> compile_for(const std::string& tool, const char* which,
                               const std::string& text) {
  auto schema = JsonSchema::compile(text);
  if (schema) return std::move(*schema);
  return fail(ErrorKind::kInvalid, "tool.schema",
              "the " + std::string(which) + " schema of the tool '" + tool +
                  "' cannot be used: " + schema.error().message);
}

}  // namespace

Result<void> ToolRegistry::add(std::unique_ptr<const Tool> tool) {
  const ToolInfo& info = tool->info();
  if (!is_tool_name(info.name)) {
    return fail(ErrorKind::kInvalid, "tool.name",
                "'" + info.name + "' is no name for a tool: 1 to 64 of A-Z a-z 0-9 _ - .");
  }
  GALLEY_ASSIGN(JsonSchema input, compile_for(info.name, "input", info.input_schema));
  GALLEY_ASSIGN(JsonSchema output, compile_for(info.name, "output", info.output_schema));
  if (needs_sanitizer(info.category) && !tool->sanitizer()) {
    return fail(ErrorKind::kRefused, "tool.no_output_sanitizer",
                "the tool '" + info.name +
                    "' asks others (category api or mcp) and nothing cleans what they answer; "
                    "give it `sanitize`, `sanitized_text` for instance");
  }
  const std::unique_lock lock(mutex_);
  if (holds(info.name)) {
    return fail(ErrorKind::kInvalid, "tool.exists",
                "a tool named '" + info.name + "' is registered already; remove it first");
  }
  if (mode_ == Mode::kReadOnly && !info.annotations.read_only) {
    return fail(ErrorKind::kRefused, "tool.not_read_only",
                "the registry is read-only and the tool '" + info.name + "' is not");
  }
  entries_.push_back(
      std::make_shared<const Entry>(Entry{std::move(tool), std::move(input), std::move(output)}));
  return {};
}

Result<std::shared_ptr<const ToolRegistry::Entry>> ToolRegistry::get(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->tool->info().name == name) return entry;
  }
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry->tool->info().name);
  return fail(ErrorKind::kUsage, "tool.unknown",
              "there is no tool named '" + std::string(name.substr(0, kMaxNameBytes)) + "'" +
                  did_you_mean(name, names));
}

bool ToolRegistry::has(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  return holds(name);
}

bool ToolRegistry::holds(std::string_view name) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const auto& entry) { return entry->tool->info().name == name; });
}

bool ToolRegistry::remove(std::string_view name) {
  const std::unique_lock lock(mutex_);
  return std::erase_if(entries_,
                       [&](const auto& entry) { return entry->tool->info().name == name; }) > 0;
}

void ToolRegistry::clear() {
  const std::unique_lock lock(mutex_);
  entries_.clear();
}

std::vector<ToolInfo> ToolRegistry::list() const {
  const std::shared_lock lock(mutex_);
  std::vector<ToolInfo> out;
  for (const auto& entry : entries_) out.push_back(entry->tool->info());
  return out;
}

nlohmann::ordered_json ToolRegistry::schemas() const {
  nlohmann::ordered_json out;
  out["schema"] = "galley.tools/1";
  out["tools"] = nlohmann::ordered_json::array();
  for (const ToolInfo& info : list()) {
    nlohmann::ordered_json tool;
    tool["name"] = info.name;
    tool["title"] = info.title;
    tool["description"] = info.description;
    tool["version"] = info.version;
    tool["inputSchema"] = nlohmann::ordered_json::parse(info.input_schema);
    tool["outputSchema"] = nlohmann::ordered_json::parse(info.output_schema);
    auto& annotations = tool["annotations"];
    annotations["readOnlyHint"] = info.annotations.read_only;
    annotations["destructiveHint"] = info.annotations.destructive;
    annotations["idempotentHint"] = info.annotations.idempotent;
    annotations["openWorldHint"] = info.annotations.open_world;
    tool["capabilities"] = info.capabilities;
    out["tools"].push_back(std::move(tool));
  }
  return out;
}

}  // namespace galley
