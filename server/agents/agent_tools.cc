#include "server/agents/agent_tools.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/printable.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using Meaning = ArgumentMeaning;

/// All names of one argument in agents' tools, in lower case and without `_` and `-`.
struct Synonyms {
  Meaning meaning;
  std::array<std::string_view, 7> words;
};

constexpr std::array<Synonyms, 12> kSynonyms = {{
    {Meaning::kPath,
     {"filepath", "path", "file", "filename", "absolutepath", "targetfile", "notebookpath"}},
    {Meaning::kOld, {"oldstring", "oldstr", "oldtext", "search"}},
    {Meaning::kNew, {"newstring", "newstr", "newtext", "replace"}},
    {Meaning::kAll, {"replaceall", "allowmultiple", "expectedreplacements"}},
    {Meaning::kContent, {"content", "contents", "filetext", "text"}},
    {Meaning::kEdits, {"edits"}},
    {Meaning::kPatch, {"command", "input", "patch", "patchtext", "diff"}},
    {Meaning::kCommand, {"command", "cmd", "commands", "script"}},
    {Meaning::kDirectory, {"workdir", "dirpath", "directory", "cwd", "workingdirectory"}},
    {Meaning::kBackground, {"runinbackground", "isbackground", "background"}},
    {Meaning::kSource, {"source", "from", "src", "oldpath"}},
    {Meaning::kTarget, {"destination", "to", "dest", "newpath"}},
}};

std::string folded_key(std::string_view key) {
  std::string folded;
  for (const char c : key) {
    if (c != '_' && c != '-') folded += static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
  }
  return folded;
}

bool means(std::string_view key, Meaning meaning) {
  const auto synonyms = std::find_if(kSynonyms.begin(), kSynonyms.end(),
                                     [&](const Synonyms& one) { return one.meaning == meaning; });
  const std::string folded = folded_key(key);
  if (folded.empty() || synonyms == kSynonyms.end()) return false;
  const auto& words = synonyms->words;
  return std::find(words.begin(), words.end(), folded) != words.end();
}

AgentTool edit_tool(const char* name, bool is_camel) {
  return {name,
          "Edit",
          {{Meaning::kPath, is_camel ? "filePath" : "file_path", "file_path"},
           {Meaning::kOld, is_camel ? "oldString" : "old_string", "old_string"},
           {Meaning::kNew, is_camel ? "newString" : "new_string", "new_string"},
           {Meaning::kAll, is_camel ? "replaceAll" : "replace_all", "replace_all"}},
          {}};
}

AgentTool multi_edit_tool(const char* name, bool is_camel) {
  AgentTool tool = edit_tool(name, is_camel);
  tool.ours = "MultiEdit";
  tool.of_each_edit = {tool.arguments.begin() + 1, tool.arguments.end()};
  tool.arguments = {tool.arguments.front(), {Meaning::kEdits, "edits", "edits"}};
  return tool;
}

AgentTool write_tool(const char* name, const char* path) {
  return {name,
          "Write",
          {{Meaning::kPath, path, "file_path"}, {Meaning::kContent, "content", "content"}},
          {}};
}

AgentTool patch_tool(const char* name, const char* patch) {
  return {name, "apply_patch", {{Meaning::kPatch, patch, "input"}}, {}};
}

/// The arguments `idle` only bound or describe the staged command, or loosen the agent's own
/// sandbox around Galley's. Those that name a program, an environment or a user are not known.
AgentTool shell_tool(const char* name, std::array<const char*, 3> command_directory_background,
                     std::vector<std::string_view> idle) {
  const auto& [command, directory, background] = command_directory_background;
  return {name,
          "",
          {{Meaning::kCommand, command, ""},
           {Meaning::kDirectory, directory, ""},
           {Meaning::kBackground, background, ""}},
          {},
          std::move(idle)};
}

/// The tools of the agents in the versions of AgentProgram::tested (docs/agents.md).
const std::vector<AgentTool>& tools_of(HookProtocol protocol) {
  static const std::vector<std::string_view> kIdleOfCodex = {"timeout_ms",
                                                             "login",
                                                             "tty",
                                                             "yield_time_ms",
                                                             "max_output_tokens",
                                                             "sandbox_permissions",
                                                             "justification",
                                                             "prefix_rule",
                                                             "additional_permissions",
                                                             "with_escalated_permissions"};
  // Claude Code and codex; codex reports every shell to a hook as `Bash`.
  static const std::vector<AgentTool> kPreToolUse = {
      edit_tool("Edit", false),
      write_tool("Write", "file_path"),
      multi_edit_tool("MultiEdit", false),
      patch_tool("apply_patch", "command"),
      shell_tool("Bash", {"command", "", "run_in_background"},
                 {"description", "timeout", "dangerouslyDisableSandbox"}),
      shell_tool("shell", {"command", "workdir", ""}, kIdleOfCodex),
      shell_tool("shell_command", {"command", "workdir", ""}, kIdleOfCodex),
      shell_tool("local_shell", {"command", "workdir", ""}, {"type", "timeout_ms"}),
      shell_tool("exec_command", {"cmd", "workdir", ""}, kIdleOfCodex),
  };
  // Gemini CLI adds these when a person changed the edit in its dialog, and to order its calls.
  static const std::vector<std::string_view> kIdleOfGemini = {
      "modified_by_user", "ai_proposed_content", "ai_proposed_string", "wait_for_previous"};
  static const std::vector<AgentTool> kBeforeTool = {
      {"replace",
       "replace",
       {{Meaning::kPath, "file_path", "file_path"},
        {Meaning::kOld, "old_string", "old_string"},
        {Meaning::kNew, "new_string", "new_string"},
        {Meaning::kAll, "allow_multiple", "allow_multiple"},
        {Meaning::kInstruction, "instruction", "instruction"}},
       {},
       kIdleOfGemini},
      {"write_file",
       "Write",
       {{Meaning::kPath, "file_path", "file_path"}, {Meaning::kContent, "content", "content"}},
       {},
       kIdleOfGemini},
      shell_tool("run_shell_command", {"command", "dir_path", "is_background"},
                 {"description", "delay_ms", "additional_permissions", "wait_for_previous"}),
  };
  static const std::vector<AgentTool> kToolExecuteBefore = {
      edit_tool("edit", true),
      write_tool("write", "filePath"),
      multi_edit_tool("multiedit", true),
      patch_tool("apply_patch", "patchText"),
      patch_tool("patch", "patchText"),
      shell_tool("bash", {"command", "workdir", ""}, {"description", "timeout"}),
  };
  if (protocol == HookProtocol::kPreToolUse) return kPreToolUse;
  return protocol == HookProtocol::kBeforeTool ? kBeforeTool : kToolExecuteBefore;
}

/// The tools of the Model Context Protocol's file system server.
const std::vector<AgentTool>& tools_of_file_server() {
  static const std::vector<AgentTool> kTools = {
      {"write_file",
       "write_file",
       {{Meaning::kPath, "path", "path"}, {Meaning::kContent, "content", "content"}},
       {}},
      {"edit_file",
       "edit_file",
       {{Meaning::kPath, "path", "path"}, {Meaning::kEdits, "edits", "edits"}},
       {{Meaning::kOld, "oldText", "oldText"}, {Meaning::kNew, "newText", "newText"}},
       {"dryRun"}},
      {"move_file",
       "move_file",
       {{Meaning::kSource, "source", "source"}, {Meaning::kTarget, "destination", "destination"}},
       {}},
      {"create_directory", "create_directory", {{Meaning::kPath, "path", "path"}}, {}},
  };
  return kTools;
}

const AgentTool* named(const std::vector<AgentTool>& tools, std::string_view name) {
  const auto found = std::find_if(tools.begin(), tools.end(),
                                  [&](const AgentTool& tool) { return tool.name == name; });
  return found == tools.end() ? nullptr : &*found;
}

/// The prefix that agents of the protocol put before the names of a server's tools.
std::string server_prefix(HookProtocol protocol, const std::string& server) {
  if (protocol == HookProtocol::kPreToolUse) return "mcp__" + server + "__";
  return protocol == HookProtocol::kBeforeTool ? "mcp_" + server + "_" : server + "_";
}

Error bad_argument(const AgentTool& tool, const std::string& what) {
  return {ErrorKind::kInvalid, "hook.input",
          "the call of '" + printable_line(tool.name) + "' cannot be judged: " + what, "", 0};
}

/// Refuses an argument that is neither one of `arguments` nor one without effect.
Result<void> check_known(const AgentTool& tool, const std::vector<AgentArgument>& arguments,
                         const json& input) {
  for (const auto& [key, value] : input.items()) {
    const auto is_key = [&key = key](const AgentArgument& one) { return key == one.theirs; };
    const bool is_known = value.is_null() ||
                          std::any_of(arguments.begin(), arguments.end(), is_key) ||
                          std::find(tool.idle.begin(), tool.idle.end(), key) != tool.idle.end();
    if (is_known) continue;
    return bad_argument(tool, "Galley does not know what its argument '" + printable_line(key) +
                                  "' does; leave it out");
  }
  return {};
}

/// Returns the values of `arguments` under Galley's keys. Refuses a value under a synonym of a key,
/// and an unknown argument.
Result<json> taken(const AgentTool& tool, const std::vector<AgentArgument>& arguments,
                   const json& input) {
  json own = json::object();
  for (const AgentArgument& argument : arguments) {
    for (const auto& [key, value] : input.items()) {
      if (key == argument.theirs) {
        if (*argument.ours != '\0' && !value.is_null()) own[argument.ours] = value;
        continue;
      }
      if (value.is_null() || !means(key, argument.meaning)) continue;
      const std::string theirs = *argument.theirs == '\0'
                                     ? "this tool has no such argument"
                                     : "this tool reads '" + std::string(argument.theirs) + "'";
      return bad_argument(tool, "it has an argument '" + printable_line(key) + "', and " + theirs +
                                    "; leave '" + printable_line(key) + "' out");
    }
  }
  GALLEY_TRY(check_known(tool, arguments, input));
  return own;
}

/// Gives the values under Galley's keys to the keys that the agent used.
void give_back(const std::vector<AgentArgument>& arguments, const json& own, json& theirs) {
  for (const AgentArgument& argument : arguments) {
    const auto value = own.find(argument.ours);
    if (value != own.end() && theirs.contains(argument.theirs)) theirs[argument.theirs] = *value;
  }
}

constexpr std::array kReadersOfPreToolUse = {
    // Claude Code
    "Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "TodoRead",
    "Task", "Agent", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
    "BashOutput", "KillShell", "KillBash", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion",
    "Skill", "SlashCommand", "ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool",
    "ReadMcpResourceDirTool", "ListAgents", "SendMessage", "ReportFindings", "CronList", "Workflow",
    "LSP", "ExitWorktree", "StructuredOutput", "ScheduleWakeup", "PushNotification",
    // codex
    "update_plan", "view_image", "web_search", "request_user_input", "spawn_agent", "wait",
    "wait_agent", "send_input", "close_agent", "resume_agent", "list_mcp_resources",
    "list_mcp_resource_templates", "read_mcp_resource", "tool_search", "write_stdin", "get_goal",
    "create_goal", "update_goal", "list_agents", "send_message", "followup_task", "interrupt_agent",
    "get_context_remaining", "new_context", "wait_for_environment", "request_permissions"};

constexpr std::array kReadersOfBeforeTool = {
    "read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search",
    "web_fetch", "google_web_search", "write_todos", "ask_user", "activate_skill",
    "enter_plan_mode", "exit_plan_mode", "get_internal_docs", "complete_task", "cli_help",
    "codebase_investigator", "update_topic", "invoke_agent",
    // The plan of a task, in the agent's own folder.
    "tracker_create_task", "tracker_update_task", "tracker_get_task", "tracker_list_tasks",
    "tracker_add_dependency", "tracker_visualize", "list_background_processes",
    "read_background_output", "list_mcp_resources", "read_mcp_resource"};

constexpr std::array kReadersOfToolExecuteBefore = {
    "read",     "list", "glob",  "grep", "webfetch", "websearch",  "codesearch", "todowrite",
    "todoread", "task", "skill", "lsp",  "question", "plan_enter", "plan_exit",  "invalid"};

template <size_t N>
bool is_listed(std::string_view name, const std::array<const char*, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const AgentTool* agent_tool(const HookRequest& request,
                            const std::vector<std::string>& file_servers) {
  if (const AgentTool* own = named(tools_of(request.protocol), request.tool)) return own;
  for (const std::string& server : file_servers) {
    const std::string prefix = server_prefix(request.protocol, server);
    if (!request.tool.starts_with(prefix)) continue;
    const std::string_view tool = std::string_view(request.tool).substr(prefix.size());
    if (const AgentTool* known = named(tools_of_file_server(), tool)) return known;
  }
  return nullptr;
}

std::string possible_file_server(const HookRequest& request) {
  // "\n" is in no name: the text before it precedes a name, the text after it follows one.
  const std::string around = server_prefix(request.protocol, "\n");
  const std::string before = around.substr(0, around.find('\n'));
  const std::string behind = around.substr(around.find('\n') + 1);
  if (!request.tool.starts_with(before)) return "";
  for (const AgentTool& tool : tools_of_file_server()) {
    const std::string end = behind + tool.name;
    if (request.tool.ends_with(end) && request.tool.size() > before.size() + end.size()) {
      return request.tool.substr(before.size(), request.tool.size() - before.size() - end.size());
    }
  }
  return "";
}

bool is_reading_tool(HookProtocol protocol, std::string_view name) {
  if (protocol == HookProtocol::kPreToolUse) return is_listed(name, kReadersOfPreToolUse);
  if (protocol == HookProtocol::kBeforeTool) return is_listed(name, kReadersOfBeforeTool);
  return is_listed(name, kReadersOfToolExecuteBefore);
}

std::string read_path(const HookRequest& request) {
  constexpr std::array kTools = {"Read", "NotebookRead", "view_image", "read_file", "read"};
  if (!is_reading_tool(request.protocol, request.tool)) return "";
  if (!is_listed(request.tool, kTools)) return "";
  for (const auto& [key, value] : request.input.items()) {
    if (means(key, Meaning::kPath) && value.is_string()) return value.get<std::string>();
  }
  return "";
}

const json* argument_of(const AgentTool& tool, const json& input, ArgumentMeaning meaning) {
  for (const AgentArgument& argument : tool.arguments) {
    if (argument.meaning != meaning) continue;
    const auto found = input.find(argument.theirs);
    return found == input.end() || found->is_null() ? nullptr : &*found;
  }
  return nullptr;
}

Result<json> own_arguments(const AgentTool& tool, const json& input) {
  GALLEY_ASSIGN(json own, taken(tool, tool.arguments, input));
  if (tool.of_each_edit.empty()) return own;
  const json* edits = argument_of(tool, input, Meaning::kEdits);
  if (edits == nullptr || !edits->is_array()) return bad_argument(tool, "it has no list 'edits'");
  const json* path = argument_of(tool, input, Meaning::kPath);
  json each = json::array();
  for (const json& edit : *edits) {
    if (!edit.is_object()) return bad_argument(tool, "one of its edits is not an object");
    json unnamed = edit;
    for (const auto& [key, value] : edit.items()) {
      if (!means(key, Meaning::kPath)) continue;
      if (path == nullptr || value != *path) {
        return bad_argument(tool, "one of its edits names another file; make it a call of its own");
      }
      unnamed.erase(key);
    }
    GALLEY_ASSIGN(json arguments, taken(tool, tool.of_each_edit, unnamed));
    each.push_back(std::move(arguments));
  }
  own["edits"] = std::move(each);
  return own;
}

void correct_for_agent(const AgentTool& tool, const json& input, ToolError& error) {
  if (error.details == nullptr || !error.details->contains("correction")) return;
  const json own = (*error.details)["correction"];
  const std::string text = json_text(own);
  const size_t place = error.message.rfind(text);
  if (!own.is_object() || place == std::string::npos) return;
  json theirs = input;
  give_back(tool.arguments, own, theirs);
  const json* edits = argument_of(tool, input, Meaning::kEdits);
  if (edits != nullptr && !edits->empty()) {
    json each = json::array();
    for (const json& edit : own.value("edits", json::array())) {
      give_back(tool.of_each_edit, edit, each.emplace_back(edits->front()));
    }
    theirs["edits"] = std::move(each);
  }
  error.message.replace(place, text.size(), json_text(theirs));
  nlohmann::ordered_json details = *error.details;
  details["correction"] = std::move(theirs);
  error.details = std::make_shared<const nlohmann::ordered_json>(std::move(details));
}

bool may_name_another_file(std::string_view path) {
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    start = end + 1;
    if (component.empty()) continue;
    const bool has_space_at_an_end = std::isspace(static_cast<uint8_t>(component.front())) != 0 ||
                                     std::isspace(static_cast<uint8_t>(component.back())) != 0;
    if (component == "~" || has_space_at_an_end) return true;
  }
  return false;
}

}  // namespace galley
