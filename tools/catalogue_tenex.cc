// Tools for the specifications, lessons and agents of TENEX, and for the project's own commands.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;
using Plan = Result<std::vector<Operation>>;

constexpr const char* kSummaries = "CHANGES";  // summaries of updates, not a specification

// --- commands -------------------------------------------------------------------------------

/// The command of a tool, from its table in galley.toml. The caller cannot change it.
std::vector<std::string> command_of(const CatalogueCall& call, std::string_view tool) {
  return split_text(setting_or(call.setting, tool, "command", ""), ' ');
}

/// Runs the configured command of a tool, with `more` after its words.
Plan plan_configured(const CatalogueCall& call, const std::string& tool, bool only_looks,
                     const std::vector<std::string>& more = {}) {
  RunCommand run;
  run.argv = command_of(call, tool);
  if (run.argv.empty()) {
    return fail(ErrorKind::kNotFound, "tool.not_configured",
                "there is no command for '" + tool +
                    "': a person gives it in galley.toml, [tools." + tool +
                    "] config = { command = \"make test\" }, and trusts it");
  }
  run.argv.insert(run.argv.end(), more.begin(), more.end());
  run.only_looks = only_looks;
  if (const auto timeout = count_of(call.args, "timeout")) {
    run.timeout = std::chrono::milliseconds(*timeout);
  }
  return std::vector<Operation>{std::move(run)};
}

ordered_json judged(const ordered_json& run, std::vector<std::string> command) {
  ordered_json data = run;
  data["passed"] = data["exitCode"] == 0;
  data["command"] = std::move(command);
  return data;
}

Plan plan_tests(const CatalogueCall& call) { return plan_configured(call, "run_tests", true); }
Result<ordered_json> answer_tests(const CatalogueCall& call, const ordered_json& run) {
  return judged(run, command_of(call, "run_tests"));
}

Plan plan_manage(const CatalogueCall& call) {
  std::vector<std::string> words = texts_of(call.args, "arguments");
  words.insert(words.begin(), text_member(call.args, "action"));
  return plan_configured(call, "manage_project", false, words);
}
Result<ordered_json> answer_manage(const CatalogueCall& call, const ordered_json& run) {
  return judged(run, command_of(call, "manage_project"));
}

Plan plan_summon(const CatalogueCall& call) {
  return plan_configured(call, "summon_agent", false,
                         {text_member(call.args, "agent"), text_member(call.args, "task")});
}
Result<ordered_json> answer_summon(const CatalogueCall& call, const ordered_json& run) {
  return judged(run, command_of(call, "summon_agent"));
}

Plan plan_build(const CatalogueCall& call) { return plan_configured(call, "build_project", false); }
Result<ordered_json> answer_build(const CatalogueCall& call, const ordered_json& run) {
  return judged(run, command_of(call, "build_project"));
}

// --- specifications, lessons, agents --------------------------------------------------------

/// A path below a folder of the configuration.
Result<RelPath> path_in(const std::string& folder, const std::string& name) {
  GALLEY_ASSIGN(const RelPath directory, RelPath::parse(folder));
  GALLEY_ASSIGN(const RelPath file, RelPath::parse(name));
  return directory.join(file);
}

std::string specs_folder(const CatalogueCall& call) {
  return setting_or(call.setting, "read_specs", "folder", "specs");
}

Result<RelPath> spec_path(const CatalogueCall& call) {
  const std::string name = text_member(call.args, "specName");
  if (name == kSummaries) {
    return fail(ErrorKind::kInvalid, "args.spec_name",
                std::string(kSummaries) + ".md has the summaries of updates; choose another name");
  }
  return path_in(specs_folder(call), name + ".md");
}

Plan plan_read_specs(const CatalogueCall& call) {
  if (call.args.contains("specName")) {
    GALLEY_ASSIGN(RelPath path, spec_path(call));
    return std::vector<Operation>{ReadFile{std::move(path)}};
  }
  GALLEY_ASSIGN(RelPath directory, RelPath::parse(specs_folder(call)));
  return std::vector<Operation>{ListDirectory{std::move(directory)}};
}

Result<ordered_json> answer_read_specs(const CatalogueCall& call, const ordered_json& data) {
  if (call.args.contains("specName")) {
    return ordered_json{{"specName", call.args["specName"]}, {"content", data["content"]}};
  }
  ordered_json names = ordered_json::array();
  for (const ordered_json& entry : data["entries"]) {
    std::string name = entry["name"];
    if (entry["type"] != "file" || !name.ends_with(".md")) continue;
    name.resize(name.size() - std::string_view(".md").size());
    if (name != kSummaries) names.push_back(std::move(name));
  }
  return ordered_json{{"specs", std::move(names)}};
}

Plan plan_update_spec(const CatalogueCall& call) {
  GALLEY_ASSIGN(const RelPath path, spec_path(call));
  std::vector<Operation> all = {WriteFile{path, text_member(call.args, "content"), {}}};
  std::string summary = text_member(call.args, "summary");
  std::replace_if(
      summary.begin(), summary.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  if (summary.empty()) return all;
  GALLEY_ASSIGN(RelPath summaries, path_in(specs_folder(call), std::string(kSummaries) + ".md"));
  all.emplace_back(AppendText{std::move(summaries),
                              "- " + text_member(call.args, "specName") + ": " + summary + "\n"});
  return all;
}

Result<ordered_json> answer_update_spec(const CatalogueCall& call, const ordered_json& written) {
  return ordered_json{{"updated", true},
                      {"specName", call.args["specName"]},
                      {"filePath", written["filePath"]},
                      {"staged", written["staged"]},
                      {"diff", written.value("diff", "")}};
}

Result<void> admit_default_agent(const std::string& agent, const ToolSetting& setting) {
  const std::string allowed = setting_or(setting, "update_spec", "default_agent", "default");
  if (agent.empty() || agent == allowed) return {};
  return fail(ErrorKind::kRefused, "agent.not_default",
              "only the agent '" + allowed +
                  "' changes specifications and project; tell it what to change");
}

/// The argument, or the event id in the configuration: `ev-1`, or `coder=ev-1 planner=ev-2`.
std::string event_of(const CatalogueCall& call) {
  const std::string given = text_member(call.args, "eventId");
  if (!given.empty()) return given;
  for (const std::string& word :
       split_text(setting_or(call.setting, "remember_lesson", "eventId", ""), ' ')) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return word;
    if (word.substr(0, equals) == call.origin.agent) return word.substr(equals + 1);
  }
  return {};
}

Plan plan_remember_lesson(const CatalogueCall& call) {
  const std::string event = event_of(call);
  if (event.empty()) {
    return fail(ErrorKind::kRefused, "agent.no_event",
                "only an agent with an event learns: give `eventId`, or have a person write "
                "[tools.remember_lesson] config.eventId in galley.toml");
  }
  GALLEY_ASSIGN(
      RelPath path,
      path_in(setting_or(call.setting, "remember_lesson", "folder", "lessons"), event + ".jsonl"));
  ordered_json line = {{"title", call.args["title"]}, {"lesson", call.args["lesson"]}};
  if (call.args.contains("context")) line["context"] = call.args["context"];
  return std::vector<Operation>{AppendText{std::move(path), json_text(line) + "\n"}};
}

Plan plan_find_agent(const CatalogueCall& call) {
  GALLEY_ASSIGN(RelPath directory,
                RelPath::parse(setting_or(call.setting, "find_agent", "folder", "agents")));
  return std::vector<Operation>{FindAgents{std::move(directory), text_member(call.args, "query"),
                                           text_member(call.args, "capability")}};
}

Result<void> admit_orchestrators(const std::string& agent, const ToolSetting& setting) {
  const auto allowed = split_text(setting_or(setting, "find_agent", "orchestrators", ""), ' ');
  const bool is_listed = std::find(allowed.begin(), allowed.end(), agent) != allowed.end();
  if (agent.empty() || is_listed) return {};
  return fail(ErrorKind::kRefused, "agent.no_orchestrator",
              "only orchestrators look for other agents and summon them; [tools.find_agent] "
              "config.orchestrators in "
              "galley.toml lists them");
}

}  // namespace

std::vector<NamedCall> tenex_calls() {
  return {{"run_tests", plan_tests, answer_tests},
          {"build_project", plan_build, answer_build},
          {"manage_project", plan_manage, answer_manage, admit_default_agent},
          {"summon_agent", plan_summon, answer_summon, admit_orchestrators},
          {"read_specs", plan_read_specs, answer_read_specs},
          {"update_spec", plan_update_spec, answer_update_spec, admit_default_agent},
          {"remember_lesson", plan_remember_lesson},
          {"find_agent", plan_find_agent, nullptr, admit_orchestrators}};
}

}  // namespace galley
