#include "tools/schema.h"
#include "tools/source_file.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

JsonSchema document_schema(const std::string& name) {
  auto schema = JsonSchema::compile(source_file("docs/json/" + name));
  EXPECT_TRUE(schema) << name << ": " << (schema ? "" : schema.error().message);
  if (!schema) schema = JsonSchema::compile("false");
  return std::move(*schema);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

/// The table of docs/tools.md as the registry has it.
std::string expected_table(const ToolRegistry& registry) {
  std::string out = "| tool | arguments (`!` = always) | does | needs |\n|---|---|---|---|\n";
  const auto document = registry.schemas();
  for (const auto& tool : document["tools"]) {
    const auto& input = tool["inputSchema"];
    std::vector<std::string> names;
    for (const auto& [name, schema] : input["properties"].items()) {
      const auto required = input.value("required", nlohmann::ordered_json::array());
      const bool always = std::find(required.begin(), required.end(), name) != required.end();
      names.push_back("`" + name + "`" + (always ? "!" : ""));
    }
    const auto& hints = tool["annotations"];
    std::string does = hints["readOnlyHint"] == true ? "reads" : "changes";
    if (hints["destructiveHint"] == true) does += ", replaces";
    if (hints["idempotentHint"] == true) does += ", idempotent";
    if (hints["openWorldHint"] == true) does += ", runs programs";
    out += "| `" + tool["name"].get<std::string>() + "` | " + joined(names) + " | " + does +
           " | `" + joined(tool["capabilities"].get<std::vector<std::string>>()) + "` |\n";
  }
  return out;
}

class Documents : public ToolFixture {};

TEST_F(Documents, ThePageOfToolsListsExactlyTheTools) {
  const std::string table = expected_table(registry_);
  EXPECT_NE(source_file("docs/tools.md").find(table), std::string::npos)
      << "docs/tools.md should hold:\n"
      << table;
}

TEST_F(Documents, TheListOfToolsConformsToItsSchema) {
  const auto violations = document_schema("tools-list.schema.json").check(registry_.schemas());
  EXPECT_TRUE(violations.empty()) << describe(violations);
}

TEST_F(Documents, ResultsConformToTheirSchema) {
  const JsonSchema schema = document_schema("tool-result.schema.json");
  put("a.txt", "same\nsame\n");
  for (const auto& [tool, args] : std::vector<std::pair<std::string, nlohmann::json>>{
           {"Read", {{"file", "a.txt"}}},
           {"Read", {{"file", "none"}}},
           {"Edit", {{"file_path", "a.txt"}, {"old_string", "same"}, {"new_string", "x"}}},
           {"Write", {{"file", "b.txt"}, {"content", "x"}}},
           {"Bash", {{"command", "true"}}}}) {
    ToolResult result = call(tool, args);
    result.meta.started_at = result.meta.ended_at = rfc3339_utc(0);
    const auto violations = schema.check(to_json(result));
    EXPECT_TRUE(violations.empty()) << tool << ": " << describe(violations);
  }
  const auto neither = schema.check(nlohmann::json::parse(
      R"({"schema":"galley.tool-result/1","ok":true,"meta":{"startedAt":"1970-01-01T00:00:00.000Z",
          "endedAt":"1970-01-01T00:00:00.000Z","durationMs":0}})"));
  EXPECT_FALSE(neither.empty()) << "ok without data";
}

}  // namespace
}  // namespace galley
