#include "tools/shapes.h"

#include <galley/define_tool.h>

#include "tools/tool_factory.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

const ToolShape& shape(std::string_view name) { return **tool_shape_named(name); }

/// The keys of a document, nested ones behind a dot.
std::string keys_of(const json& document) {
  std::string out;
  for (const auto& [key, value] : document.items()) out += (out.empty() ? "" : " ") + key;
  return out;
}

ToolInfo sample() {
  ToolInfo info;
  info.name = "fs.stat";
  info.title = "Status";
  info.description = "Says what a path is.";
  info.version = "1.2.0";
  info.input_schema = R"({"type":"object","properties":{"path":{"type":"string"}},
    "required":["path"],"additionalProperties":false})";
  info.output_schema = R"({"type":"object"})";
  info.capabilities = {"fs:read"};
  info.examples = {R"({"path":"README.md"})"};
  info.risk_level = ToolInfo::Risk::kLow;
  info.security_tier = ToolInfo::Tier::kStandard;
  info.annotations = {.read_only = true, .idempotent = true};
  return info;
}

ToolResult done_sample() {
  ToolResult result = ToolResult::success({{"kind", "file"}});
  result.meta.started_at = "2026-11-22T00:00:00.000Z";
  result.meta.ended_at = "2026-11-22T00:00:00.045Z";
  result.meta.duration_ms = 45;
  result.meta.execution_id = "exec-20240101-123456-abcdef";
  result.meta.warnings = {"slow"};
  return result;
}

ToolResult failed_sample(ToolErrorCode code = ToolErrorCode::kValidation,
                         std::string reason = "args.schema") {
  ToolResult result = ToolResult::failure(
      {code, std::move(reason), "say more",
       std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"violations", 1}}),
       "at 0x7f00: internals"});
  result.meta.duration_ms = 2;
  return result;
}

json result_in(std::string_view name, const ToolResult& result) {
  return shape(name).result(shape(name), "fs.stat", "call-1", result);
}

class Shapes : public ToolFixture {};

TEST_F(Shapes, DefinitionsHaveTheFormatOfEachSystem) {
  const json schema = json::parse(sample().input_schema);
  const ToolInfo info = sample();
  EXPECT_EQ(
      json(shape("anthropic").definition(info)),
      (json{
          {"name", "fs_stat"}, {"description", "Says what a path is."}, {"input_schema", schema}}));
  EXPECT_EQ(json(shape("openai").definition(info)), (json{{"type", "function"},
                                                          {"function",
                                                           {{"name", "fs_stat"},
                                                            {"description", "Says what a path is."},
                                                            {"parameters", schema},
                                                            {"strict", true}}}}));
  EXPECT_EQ(keys_of(shape("mcp").definition(info)),
            "annotations description inputSchema name outputSchema title");
  EXPECT_EQ(json(shape("sage").definition(info)), (json{{"name", "fs.stat"},
                                                        {"description", "Says what a path is."},
                                                        {"version", "1.2.0"},
                                                        {"schema", schema}}));
  EXPECT_EQ(json(shape("aios").definition(info)), (json{{"name", "fs.stat"},
                                                        {"namespace", "fs"},
                                                        {"version", "1.2.0"},
                                                        {"description", "Says what a path is."},
                                                        {"input_schema", schema},
                                                        {"output_schema", {{"type", "object"}}},
                                                        {"required_capabilities", {"fs:read"}},
                                                        {"risk_level", "low"},
                                                        {"requires_confirmation", false},
                                                        {"idempotent", true},
                                                        {"reversible", false},
                                                        {"timeout_ms", 5000},
                                                        {"rollback_tool", nullptr}}));
  EXPECT_EQ(json(shape("nachos").definition(info)), (json{{"toolId", "fs.stat"},
                                                          {"name", "Status"},
                                                          {"description", "Says what a path is."},
                                                          {"securityTier", 1},
                                                          {"parameters", schema}}));
  EXPECT_EQ(json(shape("tenex").list(shape("tenex"), {info})),
            (json{{"tools",
                   {{{"name", "fs.stat"},
                     {"description", "Says what a path is."},
                     {"input_schema", schema}}}}}));
  EXPECT_EQ(json(shape("faultmaven").definition(info)),
            (json{{"name", "fs.stat"},
                  {"description", "Says what a path is."},
                  {"parameters", schema},
                  {"context_aware", false},
                  {"requires_confirmation", false},
                  {"examples", {{{"path", "README.md"}}}}}));
}

TEST_F(Shapes, TenexRequiresTheFirstAlternative) {
  const json schema =
      shape("tenex").definition((*registry_.get("Read"))->tool->info())["input_schema"];
  EXPECT_EQ(schema["required"], json{"file"});
  EXPECT_FALSE(schema.contains("anyOf"));
}

TEST_F(Shapes, SageReportsADryRunInMeta) {
  ToolResult tried = done_sample();
  EXPECT_FALSE(result_in("sage", tried)["meta"].contains("dryRun"));
  tried.meta.dry_run = true;
  EXPECT_EQ(result_in("sage", tried)["meta"]["dryRun"], true);
}

TEST_F(Shapes, ResultsHaveTheFormatOfEachSystem) {
  const json data = {{"kind", "file"}};
  EXPECT_EQ(result_in("sage", done_sample()), (json{{"ok", true},
                                                    {"data", data},
                                                    {"meta",
                                                     {{"startedAt", "2026-11-22T00:00:00.000Z"},
                                                      {"endedAt", "2026-11-22T00:00:00.045Z"},
                                                      {"durationMs", 45}}}}));
  EXPECT_EQ(result_in("aios", done_sample()), (json{{"success", true},
                                                    {"output_json", R"({"kind":"file"})"},
                                                    {"error", ""},
                                                    {"execution_id", "exec-20240101-123456-abcdef"},
                                                    {"duration_ms", 45}}));
  EXPECT_EQ(result_in("nachos", done_sample()),
            (json{{"success", true},
                  {"result", data},
                  {"metadata", {{"duration", 45}, {"cached", false}, {"warnings", {"slow"}}}}}));
  ToolResult cached = done_sample();
  cached.meta.cached = true;
  EXPECT_EQ(result_in("nachos", cached)["metadata"]["cached"], true);
  EXPECT_EQ(result_in("tenex", done_sample()), (json{{"success", true}, {"result", data}}));
  EXPECT_EQ(result_in("faultmaven", done_sample()),
            (json{{"success", true}, {"data", data}, {"error", nullptr}}));
  EXPECT_EQ(result_in("anthropic", done_sample()), (json{{"type", "tool_result"},
                                                         {"tool_use_id", "call-1"},
                                                         {"content", R"({"kind":"file"})"},
                                                         {"is_error", false}}));
  EXPECT_EQ(result_in("openai", done_sample())["tool_call_id"], "call-1");
  EXPECT_EQ(result_in("mcp", done_sample())["structuredContent"], data);
  EXPECT_EQ(result_in("mcp", done_sample())["isError"], false);
}

TEST_F(Shapes, FailuresHaveTheFormatOfEachSystem) {
  EXPECT_EQ(result_in("sage", failed_sample())["error"],
            (json{{"code", "EVALIDATION"}, {"message", "say more"}}));
  EXPECT_EQ(result_in("aios", failed_sample())["error"], "EVALIDATION: say more");
  EXPECT_EQ(
      result_in("nachos", failed_sample()),
      (json{{"success", false},
            {"error",
             {{"code", "VALIDATION_ERROR"},
              {"message", "say more"},
              {"details", {{"violations", 1}}}}},
            {"metadata", {{"duration", 2}, {"cached", false}, {"warnings", json::array()}}}}));
  EXPECT_EQ(result_in("tenex", failed_sample()),
            (json{{"success", false}, {"error", "say more"}, {"toolName", "fs.stat"}}));
  EXPECT_EQ(result_in("faultmaven", failed_sample()),
            (json{{"success", false}, {"data", nullptr}, {"error", "say more"}}));
  EXPECT_EQ(result_in("mcp", failed_sample())["isError"], true);
  EXPECT_EQ(result_in("anthropic", failed_sample())["is_error"], true);
}

TEST_F(Shapes, NachosUnwrapsAnAnswerWithOnlyAResult) {
  EXPECT_EQ(result_in("nachos", ToolResult::success({{"result", "text"}}))["result"], "text");
  const nlohmann::ordered_json more = {{"result", "AAE="}, {"encoding", "base64"}};
  EXPECT_EQ(result_in("nachos", ToolResult::success(more))["result"], json(more));
}

TEST_F(Shapes, NoShapeShowsInternalCauses) {
  for (const ToolShape& each : tool_shapes()) {
    const json result = each.result(each, "x", "", failed_sample());
    EXPECT_EQ(result.dump().find("internals"), std::string::npos) << each.name;
  }
}

TEST_F(Shapes, EverySystemHasCodesForTheFiveErrors) {
  const auto codes = [](std::string_view name) {
    std::string out;
    for (const ToolErrorCode code :
         {ToolErrorCode::kValidation, ToolErrorCode::kPermission, ToolErrorCode::kRuntime,
          ToolErrorCode::kTimeout, ToolErrorCode::kQuota}) {
      out += std::string(error_code_in(shape(name), {code, "a.b", "", nullptr})) + " ";
    }
    return out + std::string(error_code_in(shape(name),
                                           {ToolErrorCode::kRuntime, "tool.threw", "", nullptr}));
  };
  EXPECT_EQ(codes("sage"), "EVALIDATION EPERMISSION ERUNTIME ETIMEOUT EQUOTA ERUNTIME");
  EXPECT_EQ(codes("nachos"),
            "VALIDATION_ERROR POLICY_DENIED EXECUTION_ERROR TIMEOUT_ERROR QUOTA_ERROR "
            "INTERNAL_ERROR");
  EXPECT_EQ(codes("faultmaven"),
            "ValidationException ToolExecutionException ToolExecutionException TimeoutException "
            "ToolExecutionException ToolExecutionException");
}

TEST_F(Shapes, EveryShapeHasADefinitionAndAManifestForEveryTool) {
  const std::vector<ToolInfo> tools = registry_.list();
  for (const ToolShape& each : tool_shapes()) {
    const json list = each.list(each, tools);
    EXPECT_EQ((list.is_array() ? list : list["tools"]).size(), tools.size()) << each.name;
    for (const ToolInfo& info : tools) {
      EXPECT_TRUE(json(each.definition(info)).dump().find("null,") == std::string::npos ||
                  each.name == "aios")
          << each.name << " " << info.name;
      EXPECT_TRUE(each.manifest(info).is_object()) << each.name << " " << info.name;
    }
  }
  ToolInfo info = sample();
  EXPECT_EQ(json(shape("nachos").manifest(info)),
            (json{{"name", "galley-tool-fs-stat"},
                  {"version", "1.2.0"},
                  {"type", "tool"},
                  {"capabilities", {{"network", {{"egress", json::array()}}}}},
                  {"provides", {{"tool", "fs.stat"}, {"securityTier", 1}}}}));
  info.capabilities = {"net:host"};
  EXPECT_EQ(json(shape("nachos").manifest(info))["capabilities"]["network"]["egress"],
            json::array({"*"}));
}

TEST_F(Shapes, AlternativesMoveToTheDescriptionIfTheSystemForbidsThem) {
  const ToolInfo& read = (*registry_.get("Read"))->tool->info();
  const json definition = shape("anthropic").definition(read);
  EXPECT_FALSE(definition["input_schema"].contains("anyOf"));
  EXPECT_TRUE(definition["description"].get<std::string>().ends_with(" Needs file; or file_path."));
  EXPECT_FALSE(json(shape("openai").definition(read))["function"]["strict"].get<bool>());
  EXPECT_FALSE(json(shape("mcp").definition(read))["inputSchema"].contains("anyOf"));
  EXPECT_TRUE(json(shape("sage").definition(read))["schema"].contains("anyOf"));
}

TEST_F(Shapes, OnlyStrictSchemasAreMarkedAsStrict) {
  const auto is_strict = [](const char* schema) {
    ToolInfo info = sample();
    info.input_schema = schema;
    return json(shape("openai").definition(info))["function"]["strict"].get<bool>();
  };
  EXPECT_TRUE(is_strict(R"({"type":"object","properties":{"a":{"type":"array","items":
    {"type":"object","properties":{},"additionalProperties":false}}},"required":["a"],
    "additionalProperties":false})"));
  EXPECT_FALSE(is_strict(R"({"type":"object"})"));
  EXPECT_FALSE(is_strict(R"({"type":"object","properties":{"a":{"type":"string"}},
    "additionalProperties":false})"));
  EXPECT_FALSE(is_strict(R"({"type":"object","properties":{"a":{"type":"object"}},
    "required":["a"],"additionalProperties":false})"));
  EXPECT_FALSE(is_strict(R"({"type":"object","properties":{"a":{"type":"string","minLength":1}},
    "required":["a"],"additionalProperties":false})"));
}

TEST_F(Shapes, AnUnknownShapeIsAnErrorWithTheNearestName) {
  const auto unknown = tool_shape_named("anthropc");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().reason, "usage.unknown_format");
  EXPECT_NE(unknown.error().message.find("did you mean 'anthropic'?"), std::string::npos);
}

}  // namespace
}  // namespace galley
