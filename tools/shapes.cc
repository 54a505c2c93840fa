#include "tools/shapes.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "tools/json_input.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

// --- schemas --------------------------------------------------------------------------------

Json schema_of(const std::string& text) { return Json::parse(text, nullptr, false); }

std::string joined_names(const Json& names, const char* last) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? last : ", ";
    out += names[i].get<std::string>();
  }
  return out;
}

/// Whether each alternative is a list of required members and nothing else.
bool are_lists_of_members(const Json& alternatives) {
  return std::ranges::all_of(alternatives, [](const Json& branch) {
    return branch.is_object() && branch.size() == 1 && branch.contains("required");
  });
}

/// A sentence for a keyword with alternatives: about required members in words, else as JSON.
std::string alternatives(const std::string& keyword, const Json& schema) {
  constexpr size_t kMostBytes = 4096;
  if (keyword == "allOf" || !are_lists_of_members(schema)) {
    const std::string text = Json{{keyword, schema}}.dump();
    return text.size() > kMostBytes ? " More is required: a wrong call is told what."
                                    : " The arguments also match " + text + ".";
  }
  std::string out;
  for (const Json& branch : schema) {
    out += (out.empty() ? "" : "; or ") + joined_names(branch["required"], " and ");
  }
  return " Needs " + out + ".";
}

/// A schema for model interfaces that do not accept alternatives at the top level. The description
/// states them instead. A call is still validated against the whole schema.
struct PlainTool {
  Json parameters;
  std::string description;
};

PlainTool plain_tool(const ToolInfo& info) {
  PlainTool plain{schema_of(info.input_schema), info.description};
  plain.description += take_alternatives(plain.parameters);
  for (const char* keyword : {"not", "if", "then", "else", "enum"}) plain.parameters.erase(keyword);
  return plain;
}

/// Whether OpenAI's strict mode accepts a schema: all objects are closed, all their members are
/// required, and all keywords are those of its structured outputs.
bool is_strict(const Json& schema) {
  static const std::set<std::string> kKeywords = {"type",
                                                  "properties",
                                                  "required",
                                                  "additionalProperties",
                                                  "items",
                                                  "enum",
                                                  "const",
                                                  "description",
                                                  "title",
                                                  "anyOf",
                                                  "pattern",
                                                  "format",
                                                  "minimum",
                                                  "maximum",
                                                  "multipleOf",
                                                  "$ref",
                                                  "exclusiveMinimum",
                                                  "exclusiveMaximum",
                                                  "minItems",
                                                  "maxItems",
                                                  "$defs"};
  if (!schema.is_object()) return false;
  for (const auto& [key, value] : schema.items()) {
    if (!kKeywords.contains(key)) return false;
  }
  if (schema.value("type", Json()) == "object") {
    if (schema.value("additionalProperties", Json()) != false) return false;
    const Json members = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    if (members.size() != required.size()) return false;
  }
  const auto all = [](const Json& schemas) { return std::ranges::all_of(schemas, is_strict); };
  return (!schema.contains("properties") || all(schema["properties"])) &&
         (!schema.contains("$defs") || all(schema["$defs"])) &&
         (!schema.contains("anyOf") || all(schema["anyOf"])) &&
         (!schema.contains("items") || is_strict(schema["items"]));
}

// --- definitions ----------------------------------------------------------------------------

Json anthropic_definition(const ToolInfo& info) {
  PlainTool plain = plain_tool(info);
  return {{"name", name_without_dots(info.name)},
          {"description", plain.description},
          {"input_schema", std::move(plain.parameters)}};
}

Json openai_definition(const ToolInfo& info) {
  PlainTool plain = plain_tool(info);
  const bool strict =
      plain.parameters == schema_of(info.input_schema) && is_strict(plain.parameters);
  return {{"type", "function"},
          {"function",
           {{"name", name_without_dots(info.name)},
            {"description", plain.description},
            {"parameters", std::move(plain.parameters)},
            {"strict", strict}}}};
}

/// Clients pass definitions on to models, whose interfaces refuse alternatives at the top level.
Json mcp_definition(const ToolInfo& info) {
  Json input = schema_of(info.input_schema);
  const std::string description = info.description + take_alternatives(input);
  return {{"name", info.name},
          {"title", info.title},
          {"description", description},
          {"inputSchema", std::move(input)},
          {"outputSchema", schema_of(info.output_schema)},
          {"annotations",
           {{"readOnlyHint", info.annotations.read_only},
            {"destructiveHint", info.annotations.destructive},
            {"idempotentHint", info.annotations.idempotent},
            {"openWorldHint", info.annotations.open_world}}}};
}

Json sage_definition(const ToolInfo& info) {
  return {{"name", info.name},
          {"description", info.description},
          {"version", info.version},
          {"schema", schema_of(info.input_schema)}};
}

Json aios_definition(const ToolInfo& info) {
  Json out = {{"name", info.name},
              {"namespace", namespace_of(info)},
              {"version", info.version},
              {"description", info.description},
              {"input_schema", schema_of(info.input_schema)},
              {"output_schema", schema_of(info.output_schema)},
              {"required_capabilities", info.capabilities},
              {"risk_level", to_string(info.risk_level)},
              {"requires_confirmation", info.requires_confirmation},
              {"idempotent", info.annotations.idempotent},
              {"reversible", info.is_reversible},
              {"timeout_ms", timeout_of(info).count()},
              {"rollback_tool", nullptr}};
  if (!info.rollback_tool.empty()) out["rollback_tool"] = info.rollback_tool;
  return out;
}

Json nachos_definition(const ToolInfo& info) {
  return {{"toolId", info.name},
          {"name", info.title},
          {"description", info.description},
          {"securityTier", static_cast<int>(info.security_tier)},
          {"parameters", schema_of(info.input_schema)}};
}

/// A manifest of Nachos has a package name, such as `nachos-tool-browser`.
Json nachos_manifest(const ToolInfo& info) {
  Json egress = Json::array();
  for (const std::string& needed : info.capabilities) {
    if (needed == "net" || needed.starts_with("net:")) egress.push_back("*");
  }
  std::string name = name_without_dots(info.name);
  std::ranges::replace(name, '_', '-');
  return {
      {"name", "galley-tool-" + to_lower(name)},
      {"version", info.version},
      {"type", "tool"},
      {"capabilities", {{"network", {{"egress", std::move(egress)}}}}},
      {"provides", {{"tool", info.name}, {"securityTier", static_cast<int>(info.security_tier)}}}};
}

/// TENEX lists required members, not alternatives. Of alternatives the first one is shown.
Json tenex_definition(const ToolInfo& info) {
  Json schema = schema_of(info.input_schema);
  if (schema.contains("anyOf") && are_lists_of_members(schema["anyOf"])) {
    const Json first = schema["anyOf"][0]["required"];
    schema.erase("anyOf");
    for (const Json& name : first) schema["required"].push_back(name);
  }
  return {
      {"name", info.name}, {"description", info.description}, {"input_schema", std::move(schema)}};
}

Json faultmaven_definition(const ToolInfo& info) {
  Json out = {{"name", info.name},
              {"description", info.description},
              {"parameters", schema_of(info.input_schema)},
              {"context_aware", info.is_context_aware},
              {"requires_confirmation", info.requires_confirmation}};
  for (const std::string& example : info.examples) out["examples"].push_back(schema_of(example));
  return out;
}

// --- lists ----------------------------------------------------------------------------------

Json plain_list(const ToolShape& shape, const std::vector<ToolInfo>& tools) {
  Json out = Json::array();
  for (const ToolInfo& info : tools) out.push_back(shape.definition(info));
  return out;
}

Json named_list(const ToolShape& shape, const std::vector<ToolInfo>& tools) {
  return {{"tools", plain_list(shape, tools)}};
}

// --- results --------------------------------------------------------------------------------

const Json& result_data(const ToolResult& result) {
  static const Json kEmpty = Json::object();
  return result.data ? *result.data : kEmpty;
}

/// The part of an error that a model reads.
Json error_document(const ToolShape& shape, const ToolError& error) {
  Json out = {
      {"code", error_code_in(shape, error)}, {"reason", error.reason}, {"message", error.message}};
  if (error.details) out["details"] = *error.details;
  return out;
}

std::string text_of(const ToolShape& shape, const ToolResult& result) {
  if (result.ok) return json_text(result_data(result));
  return json_text(Json{{"error", error_document(shape, *result.error)}});
}

Json anthropic_result(const ToolShape& shape, const std::string& /*tool*/,
                      const std::string& call_id, const ToolResult& result) {
  return {{"type", "tool_result"},
          {"tool_use_id", call_id},
          {"content", text_of(shape, result)},
          {"is_error", !result.ok}};
}

Json openai_result(const ToolShape& shape, const std::string& /*tool*/, const std::string& call_id,
                   const ToolResult& result) {
  return {{"role", "tool"}, {"tool_call_id", call_id}, {"content", text_of(shape, result)}};
}

Json mcp_result(const ToolShape& shape, const std::string& /*tool*/, const std::string& /*id*/,
                const ToolResult& result) {
  Json out;
  const Json text = {{"type", "text"}, {"text", text_of(shape, result)}};
  out["content"] = Json::array({text});
  if (result.ok) out["structuredContent"] = result_data(result);
  out["isError"] = !result.ok;
  return out;
}

Json sage_result(const ToolShape& shape, const std::string& /*tool*/, const std::string& /*id*/,
                 const ToolResult& result) {
  Json out = {{"ok", result.ok}};
  if (result.ok) {
    out["data"] = result_data(result);
  } else {
    out["error"] = {{"code", error_code_in(shape, *result.error)},
                    {"message", result.error->message}};
  }
  out["meta"] = {{"startedAt", result.meta.started_at},
                 {"endedAt", result.meta.ended_at},
                 {"durationMs", result.meta.duration_ms}};
  if (result.meta.dry_run) out["meta"]["dryRun"] = true;
  return out;
}

/// In the protocol of aiOS, `output_json` and `error` are always present; unused ones are empty.
Json aios_result(const ToolShape& shape, const std::string& /*tool*/, const std::string& /*id*/,
                 const ToolResult& result) {
  std::string error;
  if (!result.ok) error = error_line_in(shape, *result.error);
  // An initializer list would copy the text, which may be large.
  Json out = object_with_room(5);
  out["success"] = result.ok;
  out["output_json"] = result.ok ? json_text(result_data(result)) : std::string();
  out["error"] = std::move(error);
  out["execution_id"] = result.meta.execution_id;
  out["duration_ms"] = result.meta.duration_ms;
  return out;
}

/// `result` in Nachos may be any value, but an answer in Galley is an object. If its only member is
/// `result`, the value of that member is returned.
Json nachos_data(const ToolResult& result) {
  const Json& data = result_data(result);
  const auto inner = data.find("result");
  return data.size() == 1 && inner != data.end() ? *inner : data;
}

Json nachos_result(const ToolShape& shape, const std::string& /*tool*/, const std::string& /*id*/,
                   const ToolResult& result) {
  Json out = object_with_room(3);
  out["success"] = result.ok;
  if (result.ok) {
    out["result"] = nachos_data(result);
  } else {
    out["error"] = {{"code", error_code_in(shape, *result.error)},
                    {"message", result.error->message}};
    if (result.error->details) out["error"]["details"] = *result.error->details;
  }
  Json& metadata = out["metadata"] = object_with_room(3);
  metadata["duration"] = result.meta.duration_ms;
  metadata["cached"] = result.meta.cached;
  metadata["warnings"] = result.meta.warnings;
  return out;
}

Json tenex_result(const ToolShape& /*shape*/, const std::string& tool, const std::string& /*id*/,
                  const ToolResult& result) {
  if (result.ok) return {{"success", true}, {"result", result_data(result)}};
  return {{"success", false}, {"error", result.error->message}, {"toolName", tool}};
}

Json faultmaven_result(const ToolShape& /*shape*/, const std::string& /*tool*/,
                       const std::string& /*id*/, const ToolResult& result) {
  Json out = {{"success", result.ok}, {"data", nullptr}, {"error", nullptr}};
  if (result.ok) {
    out["data"] = result_data(result);
  } else {
    out["error"] = result.error->message;
  }
  return out;
}

constexpr std::array<std::string_view, 5> kSageCodes = {"EVALIDATION", "EPERMISSION", "ERUNTIME",
                                                        "ETIMEOUT", "EQUOTA"};
constexpr std::array<std::string_view, 5> kNachosCodes = {
    "VALIDATION_ERROR", "POLICY_DENIED", "EXECUTION_ERROR", "TIMEOUT_ERROR", "QUOTA_ERROR"};
constexpr std::array<std::string_view, 5> kFaultMavenExceptions = {
    "ValidationException", "ToolExecutionException", "ToolExecutionException", "TimeoutException",
    "ToolExecutionException"};

}  // namespace

const std::vector<ToolShape>& tool_shapes() {
  static const std::vector<ToolShape> table = {
      {"anthropic", "Anthropic's Messages interface", anthropic_definition, plain_list,
       anthropic_definition, anthropic_result, kSageCodes, "ERUNTIME"},
      {"openai", "OpenAI's function calling", openai_definition, plain_list, openai_definition,
       openai_result, kSageCodes, "ERUNTIME"},
      {"mcp", "the Model Context Protocol", mcp_definition, named_list, mcp_definition, mcp_result,
       kSageCodes, "ERUNTIME"},
      {"sage", "SAGE", sage_definition, plain_list, sage_definition, sage_result, kSageCodes,
       "ERUNTIME"},
      {"aios", "aiOS", aios_definition, named_list, aios_definition, aios_result, kSageCodes,
       "ERUNTIME"},
      {"nachos", "Nachos", nachos_definition, plain_list, nachos_manifest, nachos_result,
       kNachosCodes, "INTERNAL_ERROR"},
      {"tenex", "TENEX", tenex_definition, named_list, tenex_definition, tenex_result, kSageCodes,
       "ERUNTIME"},
      {"faultmaven", "FaultMaven", faultmaven_definition, plain_list, faultmaven_definition,
       faultmaven_result, kFaultMavenExceptions, "ToolExecutionException"},
  };
  return table;
}

std::vector<std::string> tool_shape_names() {
  std::vector<std::string> names;
  for (const ToolShape& shape : tool_shapes()) names.emplace_back(shape.name);
  return names;
}

Result<const ToolShape*> tool_shape_named(std::string_view name) {
  for (const ToolShape& shape : tool_shapes()) {
    if (shape.name == name) return &shape;
  }
  return fail(ErrorKind::kUsage, "usage.unknown_format",
              "there is no format '" + std::string(name) + "' for tools" +
                  did_you_mean(name, tool_shape_names()));
}

std::string_view error_code_in(const ToolShape& shape, const ToolError& error) {
  if (error.reason == "tool.threw" || error.reason == "tool.output") return shape.internal_code;
  return shape.codes.at(static_cast<size_t>(error.code));
}

std::string error_line_in(const ToolShape& shape, const ToolError& error) {
  return std::string(error_code_in(shape, error)) + ": " + error.message;
}

std::string take_alternatives(Json& schema) {
  std::string said;
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(keyword)) continue;
    said += alternatives(keyword, schema[keyword]);
    schema.erase(keyword);
  }
  return said;
}

std::string name_without_dots(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

}  // namespace galley
