#include "server/agents/hooked_call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"
#include "base/shell_word.h"
#include "server/agents/agent_tools.h"
#include "server/agents/shell_patch.h"

namespace galley {
namespace {

using nlohmann::json;
using HookAction = HookedCall::HookAction;

/// Agents start a shell with the command as one word, which Linux limits to 128 KiB with its NUL
/// (execve(2), MAX_ARG_STRLEN).
constexpr size_t kMaxCommandBytes = (size_t{128} << 10U) - 1;

/// Prefixes of `galley mcp`'s tools in codex and Claude Code, Gemini CLI and opencode.
constexpr std::array<std::string_view, 3> kOwnPrefixes = {"mcp__galley__", "mcp_galley_",
                                                          "galley_"};

template <size_t N>
bool is_among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the prefix of Galley's own server that a tool's name has; empty if it has none.
std::string_view own_prefix(std::string_view tool) {
  const auto found =
      std::find_if(kOwnPrefixes.begin(), kOwnPrefixes.end(),
                   [tool](std::string_view prefix) { return tool.starts_with(prefix); });
  return found == kOwnPrefixes.end() ? std::string_view() : *found;
}

bool is_passed(std::string_view tool, const std::vector<std::string>& passed) {
  return std::any_of(passed.begin(), passed.end(), [tool](std::string_view name) {
    if (!name.ends_with('*')) return tool == name;
    name.remove_suffix(1);
    return tool.starts_with(name);
  });
}

Error bad_input(const HookRequest& request, const std::string& what) {
  return {ErrorKind::kInvalid, "hook.input",
          "the call of '" + printable_line(request.tool) + "' cannot be judged: " + what, "", 0};
}

Result<HookAction> edit_of(const AgentTool& tool, const HookRequest& request) {
  GALLEY_ASSIGN(json arguments, own_arguments(tool, request.input));
  // Required by Gemini CLI's schema and by Galley's tool of that name; it decides nothing.
  if (tool.name == "replace") arguments.emplace("instruction", "");
  return HookAction(HookedCall::Edit{tool.ours, std::move(arguments), ""});
}

/// A command that only calls Galley, in plain words: agents use it to inspect staged changes and to
/// commit them.
bool is_own_command(std::string_view command) {
  constexpr std::array<std::string_view, 12> kVerbs = {
      "status",   "diff", "log",  "show",      "validate", "commit",
      "rollback", "undo", "redo", "savepoint", "blame",    "turns"};
  // Other options name files to write, other workspaces, agents or configurations.
  constexpr std::array kOptions = std::to_array<std::string_view>({"--tx",
                                                                   "--stat",
                                                                   "--numstat",
                                                                   "--name-status",
                                                                   "--word-diff",
                                                                   "--color-moved",
                                                                   "-w",
                                                                   "--ignore-all-space",
                                                                   "-b",
                                                                   "--ignore-space-change",
                                                                   "--side-by-side",
                                                                   "--hyperlinks",
                                                                   "-U",
                                                                   "--unified",
                                                                   "--json",
                                                                   "--to",
                                                                   "-p",
                                                                   "--patch",
                                                                   "-n",
                                                                   "--limit",
                                                                   "--max-count",
                                                                   "--",
                                                                   "--dry-run",
                                                                   "--oneline",
                                                                   "--path",
                                                                   "--session",
                                                                   "--turn",
                                                                   "--hunk",
                                                                   "--proposal",
                                                                   "--date",
                                                                   "--since",
                                                                   "--until",
                                                                   "--grep",
                                                                   "--all",
                                                                   "--conflict",
                                                                   "-m",
                                                                   "--message",
                                                                   "-q",
                                                                   "--quiet",
                                                                   "--no-pager",
                                                                   "-h",
                                                                   "--help"});
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
  if (!staged.session.empty()) words.insert(words.end(), {"--session", staged.session});
  return words;
}

/// Turns `galley --agent NAME commit` into `galley commit`: answers to staged commands have that
/// form.
std::string without_own_name(const StagedProgram& staged, const std::string& command) {
  const std::string named = "galley --agent " + staged.agent + " ";
  return command.starts_with(named) ? "galley " + command.substr(named.size()) : command;
}

/// Returns the words before an agent's command. Files that git ignores are committed, too: the
/// agent's next command needs the packages that this one installed.
Result<std::vector<std::string>> exec_words(const StagedProgram& staged) {
  std::vector<std::string> words = words_before(staged);
  CommandSettings settings;
  if (staged.settings) {
    GALLEY_ASSIGN(settings, staged.settings());
  }
  words.emplace_back("exec");
  if (settings.is_staged) {
    words.emplace_back("--begin");
    if (!settings.drops_on_failure) words.emplace_back("--keep-on-failure");
  } else {
    words.insert(words.end(), {"--commit", "--propose-ignored"});
    if (settings.drops_on_failure) words.emplace_back("--drop-on-failure");
  }
  if (settings.has_network) words.emplace_back("--network");
  words.emplace_back("--");
  return words;
}

/// Returns the words for a shell, each with a blank behind it.
std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += shell_word(word) + " ";
  return line;
}

/// Whether the text is one word as shell_word() writes it.
bool is_shell_word(std::string_view text) {
  constexpr std::string_view kQuote = "'\\''";
  std::string word(text);
  if (text.size() >= 2 && text.starts_with('\'') && text.ends_with('\'')) {
    word = word.substr(1, word.size() - 2);
    for (size_t at = 0; (at = word.find(kQuote, at)) != word.npos; ++at) {
      word.replace(at, kQuote.size(), "'");
    }
  }
  return shell_word(word) == text;
}

/// Returns the command that runs staged. Two hooks, of the project and of the person, may each get
/// the answer of the other, so a command that this function made stays as it is.
Result<std::string> staged_text(const StagedProgram& staged, const std::string& command) {
  const std::string before = shell_words(words_before(staged));
  const bool has_words = command.starts_with(before);
  const std::string own =
      has_words ? "galley " + command.substr(before.size()) : without_own_name(staged, command);
  if (is_own_command(own)) return before + own.substr(own.find(' ') + 1);
  GALLEY_ASSIGN(std::vector<std::string> words, exec_words(staged));
  words.insert(words.end(), {staged.shell, "-c"});
  const std::string line = shell_words(words);
  if (command.starts_with(line) && is_shell_word(command.substr(line.size()))) return command;
  return line + shell_word(command);
}

Result<json> staged_summary(const HookRequest& request, const StagedProgram& staged,
                            const json& command) {
  GALLEY_ASSIGN(const std::vector<std::string> words, exec_words(staged));
  json all = words;
  for (const json& word : command) {
    if (!word.is_string()) return bad_input(request, "a word of its command is not a text");
    all.push_back(word);
  }
  if (command.empty()) return bad_input(request, "its command has no words");
  const bool is_staged =
      command.size() > words.size() && std::equal(words.begin(), words.end(), command.begin());
  return is_staged ? command : all;
}

Result<HookAction> command_of(const AgentTool& tool, const HookRequest& request,
                              const StagedProgram& staged) {
  const json& input = request.input;
  GALLEY_TRY(own_arguments(tool, input));
  const json* command = argument_of(tool, input, ArgumentMeaning::kCommand);
  if (command == nullptr || !(command->is_string() || command->is_array())) {
    return bad_input(request, "it has no command");
  }
  const json* background = argument_of(tool, input, ArgumentMeaning::kBackground);
  if (background != nullptr && *background != json(false)) {
    return Error{ErrorKind::kRefused, "hook.background",
                 "the changes of a command in the background would reach nobody before its end; "
                 "run it in the foreground, with an end",
                 "", 0};
  }
  HookedCall::Command staged_call{input, ""};
  json& new_command = staged_call.input[tool.arguments.front().theirs];
  const json* directory = argument_of(tool, input, ArgumentMeaning::kDirectory);
  if (directory != nullptr && !directory->is_string()) {
    return bad_input(request, "its directory is not a text");
  }
  if (directory != nullptr) staged_call.directory = directory->get<std::string>();
  if (command->is_array()) {
    GALLEY_ASSIGN(new_command, staged_summary(request, staged, *command));
    return HookAction(std::move(staged_call));
  }
  const std::string text = command->get<std::string>();
  // Only codex applies such a patch itself. The shells of others run a program of that name.
  auto found = staged.agent == "codex" ? patch_in_shell_command(text) : std::nullopt;
  if (found) {
    if (!found->directory.starts_with('/') && !staged_call.directory.empty()) {
      found->directory = staged_call.directory + "/" + found->directory;
    }
    return HookAction(HookedCall::Edit{
        "apply_patch", {{"input", std::move(found->patch)}}, std::move(found->directory)});
  }
  GALLEY_ASSIGN(std::string line, staged_text(staged, text));
  if (line.size() > kMaxCommandBytes) {
    return Error{ErrorKind::kQuota, "hook.command_too_long",
                 "the command takes " + std::to_string(line.size()) +
                     " bytes in the sandbox, quotes included, and a shell can be given " +
                     std::to_string(kMaxCommandBytes) +
                     "; write the text with the tool for files, and run a shorter command",
                 "", 0};
  }
  new_command = std::move(line);
  return HookAction(std::move(staged_call));
}

}  // namespace

Result<HookAction> hook_action_of(const HookRequest& request, const StagedProgram& staged,
                                  const HookSettings& settings, const IsOffered& is_offered) {
  const std::string& tool = request.tool;
  // Check this first: some have names like tools of the file server, and their effects are staged.
  if (const std::string_view prefix = own_prefix(tool); !prefix.empty()) {
    const std::string_view name = std::string_view(tool).substr(prefix.size());
    GALLEY_ASSIGN(bool is_own, is_offered(name));
    if (!is_own && !settings.prefix.empty() && name.starts_with(settings.prefix)) {
      GALLEY_ASSIGN(is_own, is_offered(name.substr(settings.prefix.size())));
    }
    if (is_own) return HookAction(HookedCall::Pass{});
  }
  if (const AgentTool* known = agent_tool(request, settings.file_servers)) {
    const bool is_edit = *known->ours != '\0';
    return is_edit ? edit_of(*known, request) : command_of(*known, request, staged);
  }
  if (is_reading_tool(request.protocol, tool) || is_passed(tool, settings.passed)) {
    return HookAction(HookedCall::Pass{});
  }
  const std::string server = possible_file_server(request);
  const std::string judged =
      server.empty() ? ""
                     : ". If '" + printable_line(server) +
                           "' is the file system server of the Model Context Protocol, its edits "
                           "are judged with: galley agent-hook --file-server " +
                           printable_line(server);
  return Error{ErrorKind::kRefused, "hook.unknown_tool",
               "Galley does not know what the tool '" + printable_line(tool) +
                   "' changes, so its call is denied; use the tools that edit files or run "
                   "commands. A person can let it pass unjudged, in the agent's configuration: "
                   "galley agent-hook --allow-tool " +
                   printable_line(tool) + judged,
               "", 0};
}

bool is_own_tool(const HookRequest& request) { return !own_prefix(request.tool).empty(); }

std::string foreign_capability(const HookRequest& request) {
  constexpr std::string_view kPrefix = "mcp__";
  constexpr std::string_view kBetween = "__";
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  std::string_view server = request.server;
  std::string_view tool = request.server_tool;
  if (request.protocol == HookProtocol::kPreToolUse && request.tool.starts_with(kPrefix)) {
    const std::string_view name = std::string_view(request.tool).substr(kPrefix.size());
    const size_t middle = name.find(kBetween);
    // With a second separator, or a longer one, it is not known where the server's name ends.
    if (middle == std::string_view::npos || middle != name.rfind(kBetween)) return {};
    server = name.substr(0, middle);
    tool = name.substr(middle + kBetween.size());
  } else if (request.protocol != HookProtocol::kBeforeTool) {
    return {};
  }
  const auto is_plain = [&](std::string_view name) {
    return !name.empty() && name.find_first_not_of(kCharacters) == std::string_view::npos;
  };
  // A server named like Galley's own would seem to be it.
  if (!is_plain(server) || !is_plain(tool) || server == "galley") return {};
  return "mcp:" + std::string(server) + "/" + std::string(tool);
}

}  // namespace galley
