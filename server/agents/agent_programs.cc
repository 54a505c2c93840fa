#include "server/agents/agent_programs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "engine/policy/agent_files.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMark = " galley-agents 1 ";
/// Observed with Claude Code 2.1.330 and Gemini CLI 0.61.0.
constexpr std::string_view kNotBelow =
    " reads this file where it is started, and not in folders below: start it here, or say --user";

/// If the hook fails in any other way, its status is one that agents treat as a refusal. Without it
/// they would let a call through when the hook program is not found or was killed.
std::string hook_command(const std::string& before, std::string_view agent) {
  return "galley " + before + "agent-hook --agent " + std::string(agent) + " || exit 2";
}

/// A report of what is done already must not stop the agent.
std::string report_command(const std::string& before, std::string_view agent) {
  return "galley " + before + "agent-hook --agent " + std::string(agent) + " || exit 0";
}

std::string in(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

Error no_such_part(const std::string& message) {
  return {ErrorKind::kUsage, "agents.no_such_part", message, "", 0};
}

AgentEntry codex_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  const std::string folder = is_user ? places.codex_home : in(places.project, kCodexFolder);
  const std::string mcp =
      "[mcp_servers.galley]\ncommand = \"galley\"\n"
      "args = [\"mcp\", \"--agent\", \"codex\", \"--profile\", \"openai\"]\n"
      // codex passes only seven variables of its choice to a server; these decide what Galley
      // trusts.
      "env_vars = [\"XDG_CONFIG_HOME\", \"XDG_STATE_HOME\", \"GALLEY_TRUST\"]\n"
      "default_tools_approval_mode = \"approve\"\n";
  AgentEntry out{part, {folder + "/config.toml"}, {}, false, {folder}, ""};
  if (part == AgentPart::kMcp) {
    out.entries.emplace_back(TomlConfigEntry({"mcp_servers", "galley"}, mcp, false));
    return out;
  }
  for (const char* event : {"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"}) {
    const std::string name = std::string("hooks.") + event;
    const bool is_asked = event == std::string_view("PreToolUse");
    const std::string command = is_asked ? hook_command("", "codex") : report_command("", "codex");
    out.entries.emplace_back(TomlConfigEntry({"hooks", event},
                                             "[[" + name + "]]\n\n[[" + name +
                                                 ".hooks]]\ntype = \"command\"\ncommand = \"" +
                                                 command + "\"\ntimeout = 60\n",
                                             true));
  }
  out.next_step = "codex runs hooks only after you trusted them: type /hooks in codex";
  return out;
}

/// An element of the list of an event's hooks.
JsonConfigEntry hook_entry(const char* event, ordered_json command, bool has_matcher) {
  ordered_json value = ordered_json::object();
  if (has_matcher) value["matcher"] = "*";
  value["hooks"] = ordered_json::array();
  value["hooks"].push_back(std::move(command));
  return {{"hooks", event}, std::move(value), true};
}

void add_claude_hooks(AgentEntry& out) {
  const std::string place = "-C \"${CLAUDE_PROJECT_DIR:-.}\" ";
  const auto command = [](const std::string& line) {
    return ordered_json{{"type", "command"}, {"command", line}, {"timeout", 60}};
  };
  ordered_json asked = command(hook_command(place, "claude"));
  asked["onFailure"] = "block";
  out.entries.emplace_back(hook_entry("PreToolUse", std::move(asked), true));
  const std::string report = report_command(place, "claude");
  out.entries.emplace_back(hook_entry("PostToolUse", command(report), true));
  out.entries.emplace_back(hook_entry("UserPromptSubmit", command(report), false));
  out.entries.emplace_back(hook_entry("Stop", command(report), false));
}

void add_gemini_hooks(AgentEntry& out) {
  const std::string place = "-C \"${GEMINI_PROJECT_DIR:-.}\" ";
  const auto command = [](const std::string& line) {
    return ordered_json{
        {"name", "galley"}, {"type", "command"}, {"command", line}, {"timeout", 60000}};
  };
  out.entries.emplace_back(hook_entry("BeforeTool", command(hook_command(place, "gemini")), false));
  const std::string report = report_command(place, "gemini");
  out.entries.emplace_back(hook_entry("AfterTool", command(report), false));
  out.entries.emplace_back(hook_entry("BeforeAgent", command(report), false));
  out.entries.emplace_back(hook_entry("AfterAgent", command(report), false));
}

AgentEntry claude_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  if (part == AgentPart::kHook) {
    const std::string folder = is_user ? places.claude_home : in(places.project, kClaudeFolder);
    AgentEntry out{part, {folder + "/settings.json"}, {}, false, {folder}, ""};
    add_claude_hooks(out);
    if (!is_user) out.next_step = "Claude Code" + std::string(kNotBelow);
    return out;
  }
  ordered_json value = {{"command", "galley"}};
  value["args"] = {"mcp", "--agent", "claude"};
  return AgentEntry{
      part,
      {is_user ? places.claude_file : in(places.project, kClaudeServers)},
      {JsonConfigEntry({"mcpServers", "galley"}, std::move(value), false)},
      false,
      {},
      is_user ? "" : "Claude Code asks once whether to use the server of this project"};
}

AgentEntry gemini_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  const std::string folder = is_user ? places.gemini_home : in(places.project, kGeminiFolder);
  AgentEntry out{part, {folder + "/settings.json"}, {}, false, {folder}, ""};
  if (part == AgentPart::kHook) {
    add_gemini_hooks(out);
  } else {
    ordered_json value = {{"command", "galley"}};
    value["args"] = {"mcp", "--agent", "gemini", "--profile", "gemini"};
    out.entries.emplace_back(JsonConfigEntry({"mcpServers", "galley"}, std::move(value), false));
  }
  if (!is_user && part == AgentPart::kHook) {
    out.next_step =
        "Gemini CLI asks once whether to trust the folder, and" + std::string(kNotBelow);
  }
  return out;
}

AgentEntry opencode_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  const std::string own = is_user ? places.config_home + "/opencode" : places.project;
  if (part == AgentPart::kHook) {
    const std::string folder = is_user ? own : in(own, kOpencodeFolder);
    return {part,
            {folder + "/plugin/galley.js"},
            {GeneratedFile("", "//", std::string(agent_text::kOpencodePlugin))},
            false,
            {folder + "/plugin", folder},
            ""};
  }
  ordered_json value = {{"type", "local"}};
  value["command"] = {"galley", "mcp", "--agent", "opencode"};
  AgentEntry out{part,
                 {in(own, kOpencodeFile), in(own, kOpencodeFileWithComments)},
                 {JsonConfigEntry({"mcp", "galley"}, std::move(value), false)},
                 false,
                 {},
                 ""};
  if (is_user) out.folders.push_back(own);
  return out;
}

/// A command that a person types in an agent: `galley-VERB`.
struct TypedCommand {
  std::string_view verb;
  std::string_view description;
  std::string_view options;  ///< empty: it takes no turn
};
constexpr std::array<TypedCommand, 4> kTypedCommands = {{
    {"turns", "List what was done after each prompt, with the numbers of the turns", ""},
    {"diff", "Show what the last turn changed in files, or the turn that you name", " --turn last"},
    {"undo", "Take back the last turn, or the turn that you name", " --turn last"},
    {"redo", "Bring back the turn that was taken back last, or the one that you name",
     " --turn last"},
}};

/// The text for the model. It runs Galley in its own shell, so that the hook judges the command
/// as one of this agent and session; a shell command of the file itself would bypass the hook.
std::string prompt_of(const TypedCommand& command, std::string_view arguments) {
  const std::string line = "galley " + std::string(command.verb) + std::string(command.options);
  std::string text = "Run `" + line + "` once in the shell, exactly so, and show its output.\n";
  if (!command.options.empty()) {
    text += "If the user names a turn here, such as 3 or 3..5, write it in place of `last`";
    text += arguments.empty() ? ".\n" : ": " + std::string(arguments) + "\n";
  }
  text +=
      "Do nothing else: change no file and do not repeat what was taken back. If it fails, "
      "show its message and ask the user.\n";
  return text;
}

/// Returns the file of a command below `folder`, in the form that the agent reads (as of 2026-11):
/// Markdown with a head of YAML, where `#` begins a comment, or TOML for Gemini CLI. codex has
/// only skills since 0.117, which a person starts with `$galley-undo`.
AgentEntry command_entry(std::string_view agent, const std::string& folder,
                         const TypedCommand& command) {
  const std::string name = "galley-" + std::string(command.verb);
  const std::string about = std::string(command.description);
  if (agent == "gemini") {
    return {AgentPart::kCommands,
            {folder + "/commands/" + name + ".toml"},
            {GeneratedFile("", "#",
                           "description = \"" + about + "\"\nprompt = \"\"\"\n" +
                               prompt_of(command, "{{args}}") + "\"\"\"\n")},
            false,
            {folder + "/commands", folder},
            ""};
  }
  if (agent == "codex") {
    const std::string skills = folder + "/skills";
    return {AgentPart::kCommands,
            {skills + "/" + name + "/SKILL.md"},
            {GeneratedFile("---\n", "#",
                           "name: " + name + "\ndescription: " + about +
                               ". Only if the user asks for it by this name.\n---\n\n" +
                               prompt_of(command, ""))},
            false,
            {skills + "/" + name, skills, folder},
            ""};
  }
  const std::string more = agent == "claude" ? "disable-model-invocation: true\n" : "";
  return {AgentPart::kCommands,
          {folder + "/commands/" + name + ".md"},
          {GeneratedFile("---\n", "#",
                         "description: " + about + "\n" + more + "---\n\n" +
                             prompt_of(command, "$ARGUMENTS"))},
          false,
          {folder + "/commands", folder},
          ""};
}

std::vector<AgentEntry> command_entries(std::string_view agent, AgentScope scope,
                                        const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  std::string folder = is_user ? places.claude_home : in(places.project, kClaudeFolder);
  if (agent == "codex") folder = is_user ? places.codex_home : in(places.project, kCodexFolder);
  if (agent == "gemini") folder = is_user ? places.gemini_home : in(places.project, kGeminiFolder);
  if (agent == "opencode") {
    folder = is_user ? places.config_home + "/opencode" : in(places.project, kOpencodeFolder);
  }
  std::vector<AgentEntry> entries;
  for (const TypedCommand& command : kTypedCommands) {
    entries.push_back(command_entry(agent, folder, command));
  }
  const std::string sign = agent == "codex" ? "$" : "/";
  entries.front().next_step = "in a new session, type " + sign + "galley-undo and the like";
  return entries;
}

/// Passes the leading words `--galley-OPTION` to `galley run` as `--OPTION`, with their values, and
/// all others to the agent, each as one word.
constexpr std::string_view kWrapperBody = R"(leads=yes
for word; do
  case $leads:$word in
    yes:--galley-name|yes:--galley-resume|yes:--galley-allow-host|yes:--galley-allow-write|\
    yes:--galley-layer|yes:--galley-env|yes:--galley-git-commits|yes:--galley-detach-keys|\
    yes:--galley-repo|yes:--galley-ref|yes:--galley-color|yes:--galley-config|yes:--galley-agent|\
    yes:--galley-reason|yes:--galley-session)
      leads=value; set -- "$@" "--${word#--galley-}" ;;
    value:*) leads=yes; set -- "$@" "$word" ;;
    yes:--galley-?*) set -- "$@" "--${word#--galley-}" ;;
    yes:*) leads=no; set -- "$@" AGENT "$word" ;;
    *) set -- "$@" "$word" ;;
  esac
  shift
done
[ "$leads" != yes ] || set -- "$@" AGENT
exec galley run "$@"
)";

AgentEntry wrapper_entry(std::string_view agent, const AgentPlaces& places) {
  const std::string name(agent);
  const std::string folder = places.home + "/.local/bin";
  std::string body(kWrapperBody);
  constexpr std::string_view kName = "AGENT";
  for (size_t at = body.find(kName); at != body.npos; at = body.find(kName)) {
    body.replace(at, kName.size(), name);
  }
  return {AgentPart::kWrapper,
          {folder + "/galley-" + name},
          {GeneratedFile("#!/bin/sh\n", "#",
                         "# Runs " + name + " inside of a transaction. 'galley agents uninstall " +
                             name + " --wrapper' removes this file.\n" + body)},
          true,
          {folder},
          "start it with: galley-" + name};
}

}  // namespace

GeneratedFile::GeneratedFile(std::string head, std::string comment, std::string body)
    : head_(std::move(head)), comment_(std::move(comment)), body_(std::move(body)) {}

bool GeneratedFile::is_ours(const std::string& text) const {
  const std::string before = head_ + comment_ + std::string(kMark);
  if (!text.starts_with(before)) return false;
  const size_t end = text.find('\n', before.size());
  if (end == std::string::npos) return false;
  return text.substr(before.size(), end - before.size()) ==
         ContentId::of(text.substr(end + 1)).hex();
}

Result<std::string> GeneratedFile::add(const std::optional<std::string>& text,
                                       const std::string& file) const {
  if (text && !is_ours(*text)) {
    return fail(ErrorKind::kRefused, "agents.foreign_entry",
                file +
                    " exists, but this command did not write it, or it was changed since; nothing "
                    "was changed. Move it away first",
                file);
  }
  return head_ + comment_ + std::string(kMark) + ContentId::of(body_).hex() + "\n" + body_;
}

Result<std::optional<std::string>> GeneratedFile::remove_entry(const std::string& text,
                                                               const std::string& file) const {
  if (is_ours(text)) return std::optional<std::string>();
  return fail(ErrorKind::kRefused, "agents.foreign_entry",
              file + " was not written by this command, or was changed since; nothing was changed",
              file);
}

Result<bool> GeneratedFile::is_installed_in(const std::string& text,
                                            const std::string& /*file*/) const {
  return is_ours(text);
}

std::string_view agent_part_name(AgentPart part) {
  switch (part) {
    case AgentPart::kMcp:
      return "mcp";
    case AgentPart::kHook:
      return "hook";
    case AgentPart::kCommands:
      return "commands";
    case AgentPart::kRun:
      return "run";
    case AgentPart::kWrapper:
      break;
  }
  return "wrapper";
}

std::string_view agent_scope_name(AgentScope scope) {
  return scope == AgentScope::kUser ? "user" : "project";
}

Result<std::vector<AgentEntry>> agent_entries(std::string_view agent, AgentPart part,
                                              AgentScope scope, const AgentPlaces& places) {
  std::vector<std::string> names;
  bool is_configured = false;
  for (const AgentProgram& program : agent_programs()) {
    names.emplace_back(program.name);
    is_configured |= program.name == agent && program.usual.has_value();
  }
  if (std::find(names.begin(), names.end(), agent) == names.end()) {
    return fail(ErrorKind::kUsage, "agents.unknown",
                "Galley knows no agent '" + std::string(agent) + "'" + did_you_mean(agent, names));
  }
  if (part == AgentPart::kWrapper) {
    if (scope == AgentScope::kUser) return std::vector{wrapper_entry(agent, places)};
    return no_such_part("a wrapper belongs to you, not to a project: add --user");
  }
  if (!is_configured) {
    return no_such_part("Galley does not write into the files of " + std::string(agent) +
                        "; add --run or --wrapper, for galley run");
  }
  if (part == AgentPart::kCommands) return command_entries(agent, scope, places);
  if (agent == "codex") return std::vector{codex_entry(part, scope, places)};
  if (agent == "gemini") return std::vector{gemini_entry(part, scope, places)};
  if (agent == "opencode") return std::vector{opencode_entry(part, scope, places)};
  return std::vector{claude_entry(part, scope, places)};
}

}  // namespace galley
