#include <regex>
#include <set>
#include <sstream>

#include "staging/formats/edit_set.h"
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

class Documents : public ToolFixture {};

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

TEST(EditsPage, NamesEachLeniencyOfTheProgramAndNoOther) {
  std::set<std::string> shown;
  std::istringstream page(source_file("docs/edits.md"));
  bool is_listed = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_listed = line == "## Leniencies" || line == "## Mended hunks";
    if (!is_listed || !line.starts_with("- `")) continue;
    const std::string names = line.substr(0, line.find(": "));
    static const std::regex name("`([a-z0-9_]+)`");
    for (std::sregex_iterator at(names.begin(), names.end(), name), end; at != end; ++at) {
      shown.insert((*at)[1]);
    }
  }
  const auto known = leniency_names();
  EXPECT_EQ(shown, std::set<std::string>(known.begin(), known.end()));
}

}  // namespace
}  // namespace galley
