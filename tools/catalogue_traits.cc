#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tools/catalogue.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using Risk = ToolInfo::Risk;
using Tier = ToolInfo::Tier;

/// What a tool says of itself besides words and schemas.
struct ToolTraits {
  std::string_view name;
  Risk risk;
  Tier tier;
  const char* rollback_tool = "";  ///< empty: taken back by its execution id only, or it reads
  bool takes_long = false;         ///< looks through or changes whole directories
};

/// Risks are aiOS's table of `fs.*`, where Write is `fs.write`, List `fs.list`, and so on; what
/// edits is as risky as what writes, and a command as `process.spawn`.
constexpr std::array<ToolTraits, 27> kTraits = {{
    {"Read", Risk::kLow, Tier::kStandard, "", false},
    {"Write", Risk::kMedium, Tier::kElevated, "", false},
    {"Edit", Risk::kMedium, Tier::kElevated, "", false},
    {"MultiEdit", Risk::kMedium, Tier::kElevated, "", false},
    {"Bash", Risk::kMedium, Tier::kElevated, "", false},
    {"Glob", Risk::kLow, Tier::kStandard, "", true},
    {"Grep", Risk::kLow, Tier::kStandard, "", true},
    {"List", Risk::kLow, Tier::kStandard, "", false},
    {"Delete", Risk::kHigh, Tier::kElevated, "", true},
    {"Move", Risk::kMedium, Tier::kElevated, "Move", true},
    {"Copy", Risk::kLow, Tier::kElevated, "Delete", true},
    {"Chmod", Risk::kMedium, Tier::kElevated, "Chmod", false},
    {"Symlink", Risk::kLow, Tier::kElevated, "Delete", false},
    {"MakeDirectory", Risk::kLow, Tier::kElevated, "Delete", false},
    {"apply_patch", Risk::kMedium, Tier::kElevated, "", true},
    {"str_replace_based_edit_tool", Risk::kMedium, Tier::kElevated, "", false},
    {"str_replace_editor", Risk::kMedium, Tier::kElevated, "", false},
    {"replace", Risk::kMedium, Tier::kElevated, "", false},
    {"edit_file", Risk::kMedium, Tier::kElevated, "", false},
    {"write_file", Risk::kMedium, Tier::kElevated, "", false},
    {"move_file", Risk::kMedium, Tier::kElevated, "move_file", true},
    {"create_directory", Risk::kLow, Tier::kElevated, "Delete", false},
    {"read_text_file", Risk::kLow, Tier::kStandard, "", false},
    {"list_directory", Risk::kLow, Tier::kStandard, "", false},
    {"directory_tree", Risk::kLow, Tier::kStandard, "", true},
    {"search_files", Risk::kLow, Tier::kStandard, "", true},
    {"get_file_info", Risk::kLow, Tier::kStandard, "", false},
}};

struct ToolExamples {
  std::string_view name;
  std::vector<const char*> calls;  ///< arguments of calls on a tree with README.md and src/app.py
};

std::vector<ToolExamples> native_examples() {
  return {
      {"Read", {R"({"file_path":"README.md"})", R"({"file":"src/app.py","offset":1,"limit":1})"}},
      {"Write", {R"({"file_path":"notes.txt","content":"one line\n"})"}},
      {"Edit",
       {R"({"file_path":"README.md","old_string":"small","new_string":"tiny"})",
        R"({"file":"README.md","patch":"@@ -3 +3 @@\n-A small tree.\n+A tiny tree.\n"})"}},
      {"MultiEdit",
       {R"({"file_path":"README.md","edits":[{"old_string":"Demo","new_string":"Example"},
            {"old_string":"small","new_string":"tiny"}]})"}},
      {"Bash",
       {R"({"command":"make test","timeout":60000,"description":"run the tests"})",
        R"({"command":"git","args":["status"]})"}},
      {"Glob", {R"({"pattern":"**/*.py"})"}},
      {"Grep", {R"({"pattern":"def \\w+","glob":"*.py","output_mode":"content"})"}},
      {"List", {R"({"path":"src"})"}},
      {"Delete", {R"({"path":"src/app.py"})"}},
      {"Move", {R"({"source":"README.md","destination":"docs/README.md"})"}},
      {"Copy", {R"({"source":"README.md","destination":"COPY.md"})"}},
      {"Chmod", {R"({"path":"src/app.py","mode":"0755"})"}},
      {"Symlink", {R"({"path":"latest.md","target":"README.md"})"}},
      {"MakeDirectory", {R"({"path":"docs"})"}},
  };
}

std::vector<ToolExamples> peer_examples() {
  return {
      {"apply_patch",
       {R"({"input":"*** Begin Patch\n*** Update File: README.md\n@@\n-A small tree.\n+A tiny tree.\n*** End Patch\n"})"}},
      {"str_replace_based_edit_tool",
       {R"({"command":"view","path":"README.md"})",
        R"({"command":"str_replace","path":"README.md","old_str":"small","new_str":"tiny"})"}},
      {"str_replace_editor",
       {R"({"command":"insert","path":"README.md","insert_line":3,"insert_text":"More.\n"})"}},
      {"replace",
       {R"({"file_path":"README.md","instruction":"say tiny","old_string":"small","new_string":"tiny"})"}},
      {"edit_file",
       {R"({"path":"README.md","edits":[{"oldText":"small","newText":"tiny"}],"dryRun":true})"}},
      {"write_file", {R"({"path":"notes.txt","content":"one line\n"})"}},
      {"move_file", {R"({"source":"README.md","destination":"docs/README.md"})"}},
      {"create_directory", {R"({"path":"docs"})"}},
      {"read_text_file", {R"({"path":"README.md","head":1})"}},
      {"list_directory", {R"({"path":"."})"}},
      {"directory_tree", {R"({"path":"src"})"}},
      {"search_files", {R"({"path":".","pattern":"**/*.md","excludePatterns":["docs/"]})"}},
      {"get_file_info", {R"({"path":"README.md"})"}},
  };
}

}  // namespace

void state_traits(ToolInfo& info) {
  static const std::vector<ToolExamples> kExamples = [] {
    std::vector<ToolExamples> all = native_examples();
    for (ToolExamples& one : peer_examples()) all.push_back(std::move(one));
    return all;
  }();
  const auto is_meant = [&info](const auto& row) { return row.name == info.name; };
  const auto traits = std::find_if(kTraits.begin(), kTraits.end(), is_meant);
  const auto examples = std::find_if(kExamples.begin(), kExamples.end(), is_meant);
  // A tool without its rows is a mistake of the catalogue.
  GALLEY_CHECK(traits != kTraits.end() && examples != kExamples.end());
  const bool runs_program = info.annotations.open_world;
  info.namespace_name = runs_program ? "process" : "fs";
  info.category = runs_program ? ToolInfo::Category::kSystem : ToolInfo::Category::kDirect;
  info.risk_level = traits->risk;
  info.security_tier = traits->tier;
  info.is_reversible = !info.annotations.read_only;
  info.rollback_tool = traits->rollback_tool;
  info.timeout = traits->takes_long ? kUsualToolTime : usual_timeout(info.category);
  // Builds and tests want more than one tool's share.
  if (runs_program) info.max_memory_bytes = kMaxAllToolsBytes;
  info.examples.assign(examples->calls.begin(), examples->calls.end());
}

}  // namespace galley
