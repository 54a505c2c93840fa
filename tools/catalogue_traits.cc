#include <algorithm>
#include <array>
#include <optional>
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
  const char* name;
  Risk risk;
  Tier tier;
  const char* rollback_tool;  ///< empty: taken back by its execution id only, or it reads
  bool takes_long;            ///< looks through or changes whole directories
  std::vector<const char*> examples;
};

/// Risks are aiOS's table of `fs.*`, where Write is `fs.write`, List `fs.list`, and so on; what
/// edits is as risky as what writes, and a command as `process.spawn`.
const std::vector<ToolTraits>& all_traits() {
  static const std::vector<ToolTraits> kTraits = {
      {"Read",
       Risk::kLow,
       Tier::kStandard,
       "",
       false,
       {R"({"file_path":"README.md"})", R"({"file":"src/app.py","offset":1,"limit":1})"}},
      {"Write",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"file_path":"notes.txt","content":"one line\n"})"}},
      {"Edit",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"file_path":"README.md","old_string":"small","new_string":"tiny"})",
        R"({"file":"README.md","patch":"@@ -3 +3 @@\n-A small tree.\n+A tiny tree.\n"})"}},
      {"MultiEdit",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"file_path":"README.md","edits":[{"old_string":"Demo","new_string":"Example"},
            {"old_string":"small","new_string":"tiny"}]})"}},
      {"Bash",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"command":"make test","timeout":60000,"description":"run the tests"})",
        R"({"command":"git","args":["status"]})"}},
      {"Glob", Risk::kLow, Tier::kStandard, "", true, {R"({"pattern":"**/*.py"})"}},
      {"Grep",
       Risk::kLow,
       Tier::kStandard,
       "",
       true,
       {R"({"pattern":"def \\w+","glob":"*.py","output_mode":"content"})"}},
      {"List", Risk::kLow, Tier::kStandard, "", false, {R"({"path":"src"})"}},
      {"Delete", Risk::kHigh, Tier::kElevated, "", true, {R"({"path":"src/app.py"})"}},
      {"Move",
       Risk::kMedium,
       Tier::kElevated,
       "Move",
       true,
       {R"({"source":"README.md","destination":"docs/README.md"})"}},
      {"Copy",
       Risk::kLow,
       Tier::kElevated,
       "Delete",
       true,
       {R"({"source":"README.md","destination":"COPY.md"})"}},
      {"Chmod",
       Risk::kMedium,
       Tier::kElevated,
       "Chmod",
       false,
       {R"({"path":"src/app.py","mode":"0755"})"}},
      {"Symlink",
       Risk::kLow,
       Tier::kElevated,
       "Delete",
       false,
       {R"({"path":"latest.md","target":"README.md"})"}},
      {"MakeDirectory", Risk::kLow, Tier::kElevated, "Delete", false, {R"({"path":"docs"})"}},
      {"apply_patch",
       Risk::kMedium,
       Tier::kElevated,
       "",
       true,
       {R"({"input":"*** Begin Patch\n*** Update File: README.md\n@@\n-A small tree.\n+A tiny tree.\n*** End Patch\n"})"}},
      {"str_replace_based_edit_tool",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"command":"view","path":"README.md"})",
        R"({"command":"str_replace","path":"README.md","old_str":"small","new_str":"tiny"})"}},
      {"str_replace_editor",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"command":"insert","path":"README.md","insert_line":3,"insert_text":"More.\n"})"}},
      {"replace",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"file_path":"README.md","instruction":"say tiny","old_string":"small","new_string":"tiny"})"}},
      {"edit_file",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"path":"README.md","edits":[{"oldText":"small","newText":"tiny"}],"dryRun":true})"}},
      {"write_file",
       Risk::kMedium,
       Tier::kElevated,
       "",
       false,
       {R"({"path":"notes.txt","content":"one line\n"})"}},
      {"move_file",
       Risk::kMedium,
       Tier::kElevated,
       "move_file",
       true,
       {R"({"source":"README.md","destination":"docs/README.md"})"}},
      {"create_directory", Risk::kLow, Tier::kElevated, "Delete", false, {R"({"path":"docs"})"}},
      {"read_text_file",
       Risk::kLow,
       Tier::kStandard,
       "",
       false,
       {R"({"path":"README.md","head":1})"}},
      {"list_directory", Risk::kLow, Tier::kStandard, "", false, {R"({"path":"."})"}},
      {"directory_tree", Risk::kLow, Tier::kStandard, "", true, {R"({"path":"src"})"}},
      {"search_files",
       Risk::kLow,
       Tier::kStandard,
       "",
       true,
       {R"({"path":".","pattern":"**/*.md","excludePatterns":["docs/"]})"}},
      {"get_file_info", Risk::kLow, Tier::kStandard, "", false, {R"({"path":"README.md"})"}},
  };
  return kTraits;
}

}  // namespace

void state_traits(ToolInfo& info) {
  const auto& all = all_traits();
  const auto traits = std::find_if(all.begin(), all.end(),
                                   [&](const ToolTraits& row) { return info.name == row.name; });
  GALLEY_CHECK(traits != all.end());  // a tool without a row is a mistake of the catalogue
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
  info.examples.assign(traits->examples.begin(), traits->examples.end());
}

}  // namespace galley
