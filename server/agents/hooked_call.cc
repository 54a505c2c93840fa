#include "server/agents/hooked_call.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "server/agents/shell_patch.h"

namespace galley {
namespace {

using nlohmann::json;
using Deed = HookedCall::Deed;

/// They read, ask or plan, or start agents whose own calls are hooked in turn.
constexpr std::array<std::string_view, 84> kReaders = {
    // Claude Code
    "Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "TodoRead",
    "Task", "Agent", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
    "BashOutput", "KillShell", "KillBash", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion",
    "Skill", "SlashCommand", "ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool",
    "ReadMcpResourceDirTool", "ListAgents", "SendMessage", "ReportFindings", "CronList",
    // codex
    "update_plan", "view_image", "web_search", "request_user_input", "spawn_agent", "wait",
    "wait_agent", "send_input", "close_agent", "resume_agent", "list_mcp_resources",
    "list_mcp_resource_templates", "read_mcp_resource", "tool_search", "write_stdin",
    // Gemini CLI
    "read_file", "read_many_files", "list_directory", "search_file_content", "grep_search",
    "web_fetch", "google_web_search", "write_todos", "ask_user", "activate_skill",
    "enter_plan_mode", "exit_plan_mode", "get_internal_docs", "complete_task", "cli_help",
    "codebase_investigator", "update_topic", "invoke_agent", "list_background_processes",
    "read_background_output",
    // opencode; some are others' too
    "read", "list", "glob", "grep", "webfetch", "websearch", "codesearch", "todowrite", "todoread",
    "task", "skill", "lsp", "question", "plan_enter", "plan_exit", "invalid"};

/// Tools of `galley mcp`, as codex and Claude Code, Gemini CLI and opencode name them.
constexpr std::array<std::string_view, 3> kOwnPrefixes = {"mcp__galley__", "mcp_galley_",
                                                          "galley_"};

constexpr std::array<std::string_view, 8> kShells = {"Bash",
                                                     "bash",
                                                     "shell",
                                                     "shell_command",
                                                     "local_shell",
                                                     "exec_command",
                                                     "run_shell_command",
                                                     "unified_exec"};

template <size_t N>
bool is_among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_passed(std::string_view tool, const std::vector<std::string>& passed) {
  return std::any_of(passed.begin(), passed.end(), [tool](std::string_view name) {
    if (!name.ends_with('*')) return tool == name;
    name.remove_suffix(1);
    return tool.starts_with(name);
  });
}

/// An argument under Galley's name, and the names that agents have for it.
struct ArgumentNames {
  const char* ours;
  std::array<const char*, 2> theirs;
};

constexpr std::array<ArgumentNames, 5> kOfEdit = {{{"file_path", {"file_path", "filePath"}},
                                                   {"old_string", {"old_string", "oldString"}},
                                                   {"new_string", {"new_string", "newString"}},
                                                   {"replace_all", {"replace_all", "replaceAll"}},
                                                   {"content", {"content", "content"}}}};

const json* member(const json& input, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = input.find(name);
    if (found != input.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

/// Only what Galley's tool of the name takes: agents send more beside it.
json taken(const json& input, std::initializer_list<std::string_view> names) {
  json arguments = json::object();
  for (const ArgumentNames& argument : kOfEdit) {
    if (std::find(names.begin(), names.end(), argument.ours) == names.end()) continue;
    const json* value = member(input, {argument.theirs[0], argument.theirs[1]});
    if (value != nullptr) arguments[argument.ours] = *value;
  }
  return arguments;
}

Error bad_input(const HookRequest& request, const std::string& what) {
  return {ErrorKind::kInvalid, "hook.input",
          "the call of '" + printable_line(request.tool) + "' cannot be judged: " + what, "", 0};
}

Result<Deed> several_edits(const HookRequest& request) {
  json arguments = taken(request.input, {"file_path"});
  const json* edits = member(request.input, {"edits"});
  if (edits == nullptr || !edits->is_array()) return bad_input(request, "it has no list 'edits'");
  arguments["edits"] = json::array();
  for (const json& edit : *edits) {
    if (!edit.is_object()) return bad_input(request, "one of its edits is no object");
    arguments["edits"].push_back(taken(edit, {"old_string", "new_string", "replace_all"}));
  }
  return Deed(HookedCall::Edit{"MultiEdit", std::move(arguments), ""});
}

Result<Deed> patch(const HookRequest& request) {
  const json* text = member(request.input, {"command", "input", "patch", "patchText"});
  if (text != nullptr && text->is_array() && text->size() == 2) text = &text->back();
  if (text == nullptr || !text->is_string()) return bad_input(request, "it has no patch");
  return Deed(HookedCall::Edit{"apply_patch", {{"input", *text}}, ""});
}

/// As Gemini CLI has it; `expected_replacements` was its older word.
json gemini_replacement(const json& input) {
  json arguments = taken(input, {"file_path", "old_string", "new_string"});
  const json* many = member(input, {"allow_multiple"});
  const json* count = member(input, {"expected_replacements"});
  const bool is_many =
      (many != nullptr && many->is_boolean() && many->get<bool>()) ||
      (count != nullptr && count->is_number_integer() && count->get<int64_t>() > 1);
  if (is_many) arguments["allow_multiple"] = true;
  const json* instruction = member(input, {"instruction"});
  arguments["instruction"] = instruction == nullptr ? json("") : *instruction;
  return arguments;
}

/// The tools of the file system server of the Model Context Protocol, under any server's name.
std::optional<std::string> tool_of_file_server(std::string_view tool) {
  constexpr std::array<std::string_view, 4> kWriters = {"write_file", "edit_file", "move_file",
                                                        "create_directory"};
  if (!tool.starts_with("mcp_")) return {};
  for (const std::string_view writer : kWriters) {
    if (tool.ends_with("_" + std::string(writer))) return std::string(writer);
  }
  return {};
}

/// Nothing for a tool that is no edit.
std::optional<Result<Deed>> edit_of(const HookRequest& request) {
  const std::string& tool = request.tool;
  const json& input = request.input;
  const auto as = [](const char* name, json arguments) {
    return Result<Deed>(HookedCall::Edit{name, std::move(arguments), ""});
  };
  if (tool == "Edit" || tool == "edit") {
    return as("Edit", taken(input, {"file_path", "old_string", "new_string", "replace_all"}));
  }
  if (tool == "Write" || tool == "write" || tool == "write_file") {
    return as("Write", taken(input, {"file_path", "content"}));
  }
  if (tool == "replace") return as("replace", gemini_replacement(input));
  if (tool == "MultiEdit" || tool == "multiedit") return several_edits(request);
  if (tool == "apply_patch" || tool == "patch") return patch(request);
  if (const auto server_tool = tool_of_file_server(tool)) return as(server_tool->c_str(), input);
  return {};
}

/// A command that only speaks to Galley, in plain words: it is the way to look at what was staged,
/// and to commit it.
bool is_own_command(std::string_view command) {
  constexpr std::array<std::string_view, 11> kVerbs = {"status",   "diff",      "log",      "show",
                                                       "validate", "commit",    "rollback", "undo",
                                                       "redo",     "savepoint", "blame"};
  // Others name files to write, other workspaces, agents and configurations.
  constexpr std::array<std::string_view, 14> kOptions = {
      "--tx", "--stat",    "--numstat", "--name-status", "--json", "--to",       "-p",
      "-n",   "--dry-run", "--oneline", "--path",        "--hunk", "--proposal", "--"};
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@:=,+ ";
  constexpr std::string_view kName = "galley ";
  if (!command.starts_with(kName)) return false;
  if (command.find_first_not_of(kCharacters) != std::string_view::npos) return false;
  command.remove_prefix(kName.size());
  bool is_first = true;
  while (!command.empty()) {
    const size_t end = std::min(command.find(' '), command.size());
    const std::string_view word = command.substr(0, end);
    command.remove_prefix(std::min(end + 1, command.size()));
    if (word.empty()) continue;
    if (is_first && !is_among(word, kVerbs)) return false;
    is_first = false;
    if (word.starts_with('-') && !is_among(word.substr(0, word.find('=')), kOptions)) return false;
  }
  return !is_first;
}

std::vector<std::string> words_before(const StagedProgram& staged) {
  std::vector<std::string> words = {staged.program};
  if (!staged.agent.empty()) words.insert(words.end(), {"--agent", staged.agent});
  return words;
}

/// `galley --agent NAME commit` is `galley commit`: so the answer to a staged command has it.
std::string without_own_name(const StagedProgram& staged, const std::string& command) {
  const std::string named = "galley --agent " + staged.agent + " ";
  return command.starts_with(named) ? "galley " + command.substr(named.size()) : command;
}

std::string staged_text(const StagedProgram& staged, const std::string& command) {
  std::vector<std::string> words = words_before(staged);
  std::string line;
  const std::string own = without_own_name(staged, command);
  if (is_own_command(own)) {
    for (const std::string& word : words) line += shell_word(word) + " ";
    return line + own.substr(own.find(' ') + 1);
  }
  words.insert(words.end(), {"exec", "--begin", "--", "sh", "-c", command});
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

Result<json> staged_words(const HookRequest& request, const StagedProgram& staged,
                          const json& command) {
  std::vector<std::string> words = words_before(staged);
  words.insert(words.end(), {"exec", "--begin", "--"});
  json all = words;
  for (const json& word : command) {
    if (!word.is_string()) return bad_input(request, "a word of its command is no text");
    all.push_back(word);
  }
  if (command.empty()) return bad_input(request, "its command has no words");
  return all;
}

Result<Deed> command_of(const HookRequest& request, const StagedProgram& staged) {
  const json& input = request.input;
  const char* name = input.contains("command") ? "command" : "cmd";
  const json* command = member(input, {name});
  if (command == nullptr || !(command->is_string() || command->is_array())) {
    return bad_input(request, "it has no command");
  }
  const json* background = member(input, {"run_in_background", "is_background"});
  if (background != nullptr && *background != json(false)) {
    return Error{ErrorKind::kRefused, "hook.background",
                 "a command in the background would keep the transaction from all others; run it "
                 "in the foreground, with an end",
                 "", 0};
  }
  HookedCall::Command staged_call{input, ""};
  const json* directory = member(input, {"workdir", "dir_path", "directory"});
  if (directory != nullptr && !directory->is_string()) {
    return bad_input(request, "its directory is no text");
  }
  if (directory != nullptr) staged_call.directory = directory->get<std::string>();
  if (command->is_array()) {
    GALLEY_ASSIGN(staged_call.input[name], staged_words(request, staged, *command));
    return Deed(std::move(staged_call));
  }
  const std::string text = command->get<std::string>();
  if (auto found = patch_in_shell_command(text)) {
    if (!found->directory.starts_with('/') && !staged_call.directory.empty()) {
      found->directory = staged_call.directory + "/" + found->directory;
    }
    return Deed(HookedCall::Edit{
        "apply_patch", {{"input", std::move(found->patch)}}, std::move(found->directory)});
  }
  staged_call.input[name] = staged_text(staged, text);
  return Deed(std::move(staged_call));
}

}  // namespace

Result<Deed> deed_of(const HookRequest& request, const StagedProgram& staged,
                     const std::vector<std::string>& passed, const IsOffered& is_offered) {
  const std::string& tool = request.tool;
  // First: some are named as tools of the file server are, and what they do is staged.
  for (const std::string_view prefix : kOwnPrefixes) {
    if (!tool.starts_with(prefix)) continue;
    GALLEY_ASSIGN(const bool is_own, is_offered(std::string_view(tool).substr(prefix.size())));
    if (is_own) return Deed(HookedCall::Pass{});
  }
  if (is_among(tool, kShells)) return command_of(request, staged);
  if (auto edit = edit_of(request)) return *std::move(edit);
  if (is_among(tool, kReaders) || is_passed(tool, passed)) return Deed(HookedCall::Pass{});
  return Error{ErrorKind::kRefused, "hook.unknown_tool",
               "it cannot be told what the tool '" + printable_line(tool) +
                   "' changes, so its call is denied; use the tools that edit files or run "
                   "commands. A person can let it pass unjudged, in the agent's configuration: "
                   "galley agent-hook --allow-tool " +
                   printable_line(tool),
               "", 0};
}

}  // namespace galley
