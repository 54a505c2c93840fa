// Names of Gemini CLI that no other dialect has. It may put `wait_for_previous` beside the
// arguments of any call.
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/adapters.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/dialect.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Plan = Result<std::vector<Operation>>;

constexpr const char* kBesides = R"(,"wait_for_previous":{"type":"boolean"})";

ToolInfo gemini_info(const char* name, const char* native, std::string description,
                     const std::string& members, const char* needs) {
  ToolInfo info = native_tool(native);
  info.name = name;
  info.description = std::move(description);
  info.input_schema = object_output(members + kBesides, needs);
  info.examples = {};  // the native tool has other arguments
  return info;
}

Result<RelPath> start_of(const json& args, const PathOrigin& origin) {
  return directory_argument(first_of(args, {"dir_path", "path", "directory"}), origin);
}

}  // namespace

std::vector<Dialect> gemini_dialect() {
  Dialect glob{
      gemini_info(
          "glob", "Glob",
          "Finds files whose path below `dir_path` fits the glob (`**`, `*`, `?`, `{a,b}`).",
          R"("pattern":{"type":"string","minLength":1},"dir_path":{"type":"string"},
        "path":{"type":"string"},"respect_git_ignore":{"type":"boolean","default":true})",
          R"("pattern")"),
      [](const json& args, const PathOrigin& origin) -> Plan {
        FindFiles find;
        GALLEY_ASSIGN(find.under, start_of(args, origin));
        find.pattern = text_member(args, "pattern");
        find.include_ignored = !flag_of(args, "respect_git_ignore", true);
        return std::vector<Operation>{std::move(find)};
      },
      as_it_is};
  Dialect search{
      gemini_info(
          "search_file_content", "Grep",
          "Searches the files below `dir_path` for a regular expression (RE2) and shows the "
          "lines; `include` is a glob of files.",
          R"("pattern":{"type":"string"},"dir_path":{"type":"string"},
        "path":{"type":"string"},"include":{"type":"string"})",
          R"("pattern")"),
      [](const json& args, const PathOrigin& origin) -> Plan {
        SearchText find;
        GALLEY_ASSIGN(find.under, start_of(args, origin));
        find.pattern = text_member(args, "pattern");
        find.glob = text_member(args, "include");
        find.output = SearchText::Output::kContent;
        return std::vector<Operation>{std::move(find)};
      },
      as_it_is};
  Dialect shell{
      gemini_info(
          "run_shell_command", "Bash",
          "Runs a line for the shell in the sandbox on the proposed tree, in `dir_path`; what it "
          "changes is staged when it exits with 0.",
          R"("command":{"type":"string","minLength":1},"description":{"type":"string"},
        "dir_path":{"type":"string"},"directory":{"type":"string"})",
          R"("command")"),
      [](const json& args, const PathOrigin& origin) -> Plan {
        RunCommand run;
        run.argv = {"sh", "-c", text_member(args, "command")};
        run.is_shell = true;
        GALLEY_ASSIGN(run.directory, start_of(args, origin));
        return std::vector<Operation>{std::move(run)};
      },
      as_it_is};
  glob.info.examples = {R"({"pattern":"**/*.py"})"};
  search.info.examples = {R"({"pattern":"def \\w+","include":"*.py"})"};
  shell.info.examples = {R"({"command":"ls"})"};
  return {std::move(glob), std::move(search), std::move(shell)};
}

}  // namespace galley
