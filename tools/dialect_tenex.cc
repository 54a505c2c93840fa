// TENEX' tools. Its document gives parameters for those of its own; the others follow Claude Code.
#include <algorithm>
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
using Results = std::vector<ordered_json>;

constexpr std::chrono::milliseconds kBuildTime{600'000};  // `[sandbox]` bounds it, too
constexpr const char* kSummaries = "CHANGES";  // holds the summaries of updates, so is no spec

ToolInfo tenex_info(const char* name, const char* title, std::string description,
                    ToolAnnotations hints) {
  ToolInfo info;
  info.name = name;
  info.title = title;
  info.description = std::move(description);
  info.annotations = hints;
  info.capabilities = {hints.read_only ? "fs:read" : "fs:write"};
  info.risk_level = hints.read_only ? ToolInfo::Risk::kLow : ToolInfo::Risk::kMedium;
  info.security_tier = hints.read_only ? ToolInfo::Tier::kStandard : ToolInfo::Tier::kElevated;
  info.is_reversible = !hints.read_only;
  return info;
}

// --- files and code -------------------------------------------------------------------------

Dialect read_file_dialect() {
  ToolInfo info =
      tenex_info("read_file", "Read contents of a file",
                 "Reads a file, or the lines from `offset` (1-based) on, `limit` many.", kReads);
  info.input_schema = R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"file_path":{"type":"string"},"absolute_path":{"type":"string"},
        "offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1},
        "wait_for_previous":{"type":"boolean"}},
        "anyOf":[{"required":["path"]},{"required":["file_path"]},{"required":["absolute_path"]}]})";
  info.output_schema = native_tool("Read").output_schema;
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            ReadFile read;
            GALLEY_ASSIGN(
                read.path,
                file_argument(first_of(args, {"path", "file_path", "absolute_path"}), origin));
            read.first_line = std::max<uint64_t>(1, count_of(args, "offset").value_or(1));
            read.line_count = count_of(args, "limit");
            return std::vector<Operation>{std::move(read)};
          },
          as_it_is};
}

Dialect search_code_dialect() {
  ToolInfo info = tenex_info("search_code", "Search for patterns in code",
                             "Searches the files below `path` for a regular expression (RE2) and "
                             "shows the lines; `glob` says which files.",
                             kReads);
  info.input_schema = object_output(R"("pattern":{"type":"string","minLength":1},
        "path":{"type":"string"},"glob":{"type":"string"},
        "ignoreCase":{"type":"boolean","default":false},
        "contextLines":{"type":"integer","minimum":0,"maximum":1000})",
                                    R"("pattern")");
  info.output_schema = native_tool("Grep").output_schema;
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            SearchText search;
            GALLEY_ASSIGN(search.under, directory_argument(text_member(args, "path"), origin));
            search.pattern = text_member(args, "pattern");
            search.glob = text_member(args, "glob");
            search.output = SearchText::Output::kContent;
            search.ignore_case = flag_of(args, "ignoreCase");
            const auto around = static_cast<uint32_t>(count_of(args, "contextLines").value_or(0));
            search.lines_before = search.lines_after = around;
            return std::vector<Operation>{std::move(search)};
          },
          as_it_is};
}

Dialect find_references_dialect() {
  ToolInfo info = tenex_info(
      "find_references", "Find symbol references",
      "Finds where a symbol stands as a whole word, and, where Universal Ctags is installed and "
      "may be run, which of the places define it (`definitionsFrom`: ctags or none).",
      kReads);
  info.input_schema = object_output(R"("symbol":{"type":"string","minLength":1,"maxLength":200},
        "path":{"type":"string"},"glob":{"type":"string"})",
                                    R"("symbol")");
  info.output_schema = object_output(R"("symbol":{"type":"string"},
        "definitions":{"type":"array","items":{"type":"object","required":["path","line"]}},
        "definitionsFrom":{"enum":["ctags","none"]},"numReferences":{"type":"integer"},
        "references":{"type":"array","items":{"type":"object","required":["path","line","text"]}},
        "truncated":{"type":"boolean"})",
                                     R"("symbol","definitions","definitionsFrom","references")");
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath under, directory_argument(text_member(args, "path"), origin));
            return std::vector<Operation>{FindReferences{
                std::move(under), text_member(args, "symbol"), text_member(args, "glob")}};
          },
          as_it_is};
}

Dialect analyze_dependencies_dialect() {
  ToolInfo info = tenex_info("analyze_dependencies", "Analyze project dependencies",
                             "Lists what the files of common languages import, include, use or "
                             "require, file by file, and which modules most files name.",
                             kReads);
  info.input_schema = object_output(R"("path":{"type":"string"})", "");
  info.output_schema = object_output(R"("numFiles":{"type":"integer"},
        "files":{"type":"array","items":{"type":"object","required":["path","imports"]}},
        "dependencies":{"type":"array","items":{"type":"object","required":["module","files"]}},
        "truncated":{"type":"boolean"})",
                                     R"("numFiles","files","dependencies","truncated")");
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath under, directory_argument(text_member(args, "path"), origin));
            return std::vector<Operation>{ListImports{std::move(under)}};
          },
          as_it_is};
}

// --- commands -------------------------------------------------------------------------------

ToolInfo command_info(const char* name, const char* title, std::string description) {
  ToolInfo info = native_tool("Bash");
  info.examples = {};  // it has other arguments
  info.name = name;
  info.title = title;
  info.description = std::move(description);
  info.category = ToolInfo::Category::kSystem;
  info.risk_level = ToolInfo::Risk::kMedium;
  return info;
}

Dialect run_command_dialect() {
  ToolInfo info = command_info("run_command", "Execute shell commands",
                               "Runs a line for the shell in the sandbox on the proposed tree, in "
                               "`cwd`; what it changes is staged when it exits with 0. `timeout` "
                               "is in milliseconds.");
  info.input_schema = object_output(R"("command":{"type":"string","minLength":1},
        "cwd":{"type":"string"},"timeout":{"type":"integer","minimum":1,"maximum":600000})",
                                    R"("command")");
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            RunCommand run;
            run.argv = {"sh", "-c", text_member(args, "command")};
            run.is_shell = true;
            GALLEY_ASSIGN(run.directory, directory_argument(text_member(args, "cwd"), origin));
            if (const auto timeout = count_of(args, "timeout")) {
              run.timeout = std::chrono::milliseconds(*timeout);
            }
            return std::vector<Operation>{std::move(run)};
          },
          as_it_is};
}

/// A tool that runs the command of its table in galley.toml, and nothing that the caller says.
Dialect configured_command(ToolInfo info, std::vector<std::string> command, bool only_looks) {
  info.timeout = kBuildTime;
  info.input_schema =
      object_output(R"("timeout":{"type":"integer","minimum":1,"maximum":600000})", "");
  info.output_schema = change_output(R"("passed":{"type":"boolean"},"command":{"type":"array"},
        "stdout":{"type":"string"},"stderr":{"type":"string"},
        "exitCode":{"type":"integer"},"signal":{"type":"integer"},
        "stagedPaths":{"type":"integer"},"ignoredPaths":{"type":"integer"},
        "uncheckedRules":{"type":"array","items":{"type":"string"}},
        "protectedPaths":{"type":"integer"},"refused":{"type":"array"},
        "sandbox":{"type":"string"})",
                                     R"("passed","stdout","stderr","exitCode")");
  const std::string name = info.name;
  const auto plan = [command, only_looks, name](const json& args, const PathOrigin&) -> Plan {
    if (command.empty()) {
      return fail(ErrorKind::kNotFound, "tool.not_configured",
                  "there is no command for '" + name +
                      "': a person gives it in galley.toml, [tools." + name +
                      "] config = { command = \"make test\" }, and trusts it");
    }
    RunCommand run;
    run.argv = command;
    run.only_looks = only_looks;
    if (const auto timeout = count_of(args, "timeout")) {
      run.timeout = std::chrono::milliseconds(*timeout);
    }
    return std::vector<Operation>{std::move(run)};
  };
  return {std::move(info), plan, [command](const json&, const Results& results) {
            ordered_json data = results.front();
            data["passed"] = data["exitCode"] == 0;
            data["command"] = command;
            return data;
          }};
}

// --- specifications, lessons, agents --------------------------------------------------------

constexpr const char* kSpecName =
    R"("specName":{"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")";

Result<RelPath> spec_path(const std::string& folder, const std::string& name) {
  if (name == kSummaries) {
    return fail(ErrorKind::kInvalid, "args.spec_name",
                std::string(kSummaries) + ".md has the summaries of updates; choose another name");
  }
  GALLEY_ASSIGN(const RelPath directory, RelPath::parse(folder));
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(name + ".md"));
  return directory.join(file);
}

Dialect read_specs_dialect(const TenexSettings& settings) {
  ToolInfo info =
      tenex_info("read_specs", "Read project specifications",
                 "Reads the specification `specName` (e.g. SPEC, ARCHITECTURE), or lists "
                 "their names without one.",
                 kReads);
  info.input_schema = object_output(std::string(kSpecName) + "}", "");
  info.output_schema = object_output(R"("specName":{"type":"string"},"content":{"type":"string"},
        "specs":{"type":"array","items":{"type":"string"}})",
                                     "");
  const auto plan = [folder = settings.specs](const json& args, const PathOrigin&) -> Plan {
    if (args.contains("specName")) {
      GALLEY_ASSIGN(RelPath path, spec_path(folder, text_member(args, "specName")));
      return std::vector<Operation>{ReadFile{std::move(path)}};
    }
    GALLEY_ASSIGN(RelPath directory, RelPath::parse(folder));
    return std::vector<Operation>{ListDirectory{std::move(directory)}};
  };
  return {std::move(info), plan, [](const json& args, const Results& results) -> ordered_json {
            const ordered_json& data = results.front();
            if (args.contains("specName")) {
              return {{"specName", args["specName"]}, {"content", data["content"]}};
            }
            ordered_json names = ordered_json::array();
            for (const ordered_json& entry : data["entries"]) {
              std::string name = entry["name"];
              if (entry["type"] != "file" || !name.ends_with(".md")) continue;
              name.resize(name.size() - std::string_view(".md").size());
              if (name != kSummaries) names.push_back(std::move(name));
            }
            return {{"specs", std::move(names)}};
          }};
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

Dialect update_spec_dialect(const TenexSettings& settings) {
  ToolInfo info = tenex_info("update_spec", "Update a project specification",
                             "Stages the whole text of a specification; the summary is kept in "
                             "CHANGES.md beside it. Only the default agent may.",
                             {.destructive = true});
  info.input_schema = object_output(std::string(kSpecName) + R"(},"content":{"type":"string"},
        "summary":{"type":"string","maxLength":2000})",
                                    R"("specName","content")");
  info.output_schema = change_output(R"("updated":{"type":"boolean"},"specName":{"type":"string"},
        "filePath":{"type":"string"})",
                                     R"("updated","specName")");
  const auto plan = [folder = settings.specs](const json& args, const PathOrigin&) -> Plan {
    const std::string name = text_member(args, "specName");
    GALLEY_ASSIGN(const RelPath path, spec_path(folder, name));
    std::vector<Operation> all = {WriteFile{path, text_member(args, "content"), {}}};
    const std::string summary = one_line(text_member(args, "summary"));
    if (summary.empty()) return all;
    GALLEY_ASSIGN(const RelPath file, RelPath::parse(std::string(kSummaries) + ".md"));
    GALLEY_ASSIGN(RelPath summaries, path.parent().join(file));
    all.emplace_back(AppendText{std::move(summaries), "- " + name + ": " + summary + "\n"});
    return all;
  };
  const auto admit = [allowed = settings.default_agent](const std::string& agent) -> Result<void> {
    if (agent.empty() || agent == allowed) return {};
    return fail(ErrorKind::kRefused, "agent.not_default",
                "only the agent '" + allowed + "' updates specifications; tell it what to change");
  };
  return {std::move(info), plan,
          [](const json& args, const Results& results) -> ordered_json {
            return {{"updated", true},
                    {"specName", args["specName"]},
                    {"filePath", results.front()["filePath"]},
                    {"staged", results.front()["staged"]},
                    {"diff", results.front().value("diff", "")}};
          },
          admit};
}

Dialect remember_lesson_dialect(const TenexSettings& settings) {
  ToolInfo info =
      tenex_info("remember_lesson", "Record a lesson learned",
                 "Adds a lesson learned from a mistake to what the agent of `eventId` has "
                 "learned: one line of JSON in the folder of lessons.",
                 {});
  info.is_context_aware = true;
  info.input_schema = object_output(R"("title":{"type":"string","minLength":1,"maxLength":300},
        "lesson":{"type":"string","minLength":1},"context":{"type":"string"},
        "eventId":{"type":"string","pattern":"^[A-Za-z0-9_-]{1,128}$",
          "description":"the event that the agent was defined by"})",
                                    R"("title","lesson","eventId")");
  info.output_schema = change_output(R"("remembered":{"type":"boolean"},
        "filePath":{"type":"string"})",
                                     R"("remembered")");
  const auto plan = [folder = settings.lessons](const json& args, const PathOrigin&) -> Plan {
    GALLEY_ASSIGN(const RelPath directory, RelPath::parse(folder));
    GALLEY_ASSIGN(const RelPath file, RelPath::parse(text_member(args, "eventId") + ".jsonl"));
    GALLEY_ASSIGN(RelPath path, directory.join(file));
    ordered_json line = {{"title", args["title"]}, {"lesson", args["lesson"]}};
    if (args.contains("context")) line["context"] = args["context"];
    return std::vector<Operation>{AppendText{std::move(path), json_text(line) + "\n"}};
  };
  return {std::move(info), plan, [](const json&, const Results& results) -> ordered_json {
            return {{"remembered", true},
                    {"filePath", results.front()["filePath"]},
                    {"staged", results.front()["staged"]}};
          }};
}

Dialect find_agent_dialect(const TenexSettings& settings) {
  ToolInfo info = tenex_info("find_agent", "Find information about another agent",
                             "Finds agents by a text in name or description, and by a capability. "
                             "Only orchestrators may.",
                             kReads);
  info.input_schema =
      object_output(R"("query":{"type":"string"},"capability":{"type":"string"})", "");
  info.output_schema = object_output(R"("count":{"type":"integer"},
        "agents":{"type":"array","items":{"type":"object","required":["name"]}},
        "unreadable":{"type":"array","items":{"type":"string"}})",
                                     R"("count","agents")");
  const auto plan = [folder = settings.agents](const json& args, const PathOrigin&) -> Plan {
    GALLEY_ASSIGN(RelPath directory, RelPath::parse(folder));
    return std::vector<Operation>{FindAgents{std::move(directory), text_member(args, "query"),
                                             text_member(args, "capability")}};
  };
  const auto admit = [allowed = settings.orchestrators](const std::string& agent) -> Result<void> {
    const bool is_listed = std::find(allowed.begin(), allowed.end(), agent) != allowed.end();
    if (agent.empty() || is_listed) return {};
    return fail(
        ErrorKind::kRefused, "agent.no_orchestrator",
        "only orchestrators look for other agents; [tools.find_agent] config.orchestrators in "
        "galley.toml lists them");
  };
  return {std::move(info), plan, as_it_is, admit};
}

}  // namespace

std::vector<Dialect> tenex_dialect(const TenexSettings& settings) {
  return {read_specs_dialect(settings),
          update_spec_dialect(settings),
          remember_lesson_dialect(settings),
          find_agent_dialect(settings),
          read_file_dialect(),
          search_code_dialect(),
          find_references_dialect(),
          analyze_dependencies_dialect(),
          run_command_dialect(),
          configured_command(
              command_info("run_tests", "Run test suites",
                           "Runs the project's tests, the command of [tools.run_tests], in the "
                           "sandbox on the proposed tree; what it changes is dropped."),
              settings.test_command, true),
          configured_command(
              command_info("build_project", "Build the project",
                           "Builds the project by the command of [tools.build_project], in the "
                           "sandbox on the proposed tree; what it changes is staged."),
              settings.build_command, false)};
}

}  // namespace galley
