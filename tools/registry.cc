#include "tools/registry.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/nearest_name.h"
#include "base/process_usage.h"
#include "tools/output_sanitizer.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

constexpr size_t kMaxShownNameBytes = 64;

tl::unexpected<Error> bad_schema(const std::string& tool, const char* which, const Error& why) {
  return fail(ErrorKind::kInvalid, "tool.schema",
              "the " + std::string(which) + " schema of the tool '" + tool +
                  "' cannot be used: " + why.message);
}

Result<JsonSchema> compile_for(const std::string& tool, const char* which,
                               const std::string& text) {
  auto schema = JsonSchema::compile(text);
  if (schema) return std::move(*schema);
  return bad_schema(tool, which, schema.error());
}

}  // namespace

Result<void> ToolRegistry::add(std::unique_ptr<const Tool> tool) {
  const uint64_t peak_before = peak_resident_bytes();
  const ToolInfo& info = tool->info();
  GALLEY_ASSIGN(JsonSchema input, compile_for(info.name, "input", info.input_schema));
  GALLEY_ASSIGN(JsonSchema output, compile_for(info.name, "output", info.output_schema));
  if (needs_sanitizer(info.category) && !tool->sanitizer()) {
    return fail(ErrorKind::kRefused, "tool.no_output_sanitizer",
                "the tool '" + info.name +
                    "' asks others (category api or mcp) and nothing cleans what they answer; "
                    "give it `sanitize`, `sanitized_text` for instance");
  }
  GALLEY_TRY(check_definition(info, input));
  auto defaults = SchemaDefaults::compile(info.input_schema);
  if (!defaults) return bad_schema(info.name, "input", defaults.error());
  const std::unique_lock lock(mutex_);
  if (holds(info.name)) {
    return fail(ErrorKind::kInvalid, "tool.exists",
                "a tool named '" + info.name + "' is registered already; remove it first");
  }
  if (mode_ == Mode::kReadOnly && !info.annotations.read_only) {
    return fail(ErrorKind::kRefused, "tool.not_read_only",
                "the registry is read-only and the tool '" + info.name + "' is not");
  }
  entries_.push_back(std::make_shared<const Entry>(Entry{std::move(tool), std::move(input),
                                                         std::move(output), *std::move(defaults),
                                                         peak_resident_bytes() - peak_before}));
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
              "there is no tool named '" + std::string(name.substr(0, kMaxShownNameBytes)) + "'" +
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
    out["tools"].push_back(definition_json(info));
  }
  return out;
}

}  // namespace galley
