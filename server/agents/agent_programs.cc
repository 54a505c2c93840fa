#include "server/agents/agent_programs.h"

#include <algorithm>
#include <utility>

#include "base/content_id.h"
#include "base/text.h"
#include "engine/policy/agent_files.h"
#include "server/agents/opencode_plugin.h"

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
  const std::string hook =
      "[[hooks.PreToolUse]]\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"" +
      hook_command("", "codex") + "\"\ntimeout = 60\n";
  const bool is_mcp = part == AgentPart::kMcp;
  TomlConfigEntry entry = is_mcp ? TomlConfigEntry({"mcp_servers", "galley"}, mcp, false)
                                 : TomlConfigEntry({"hooks", "PreToolUse"}, hook, true);
  AgentEntry out{part, {folder + "/config.toml"}, std::move(entry), false, {folder}, ""};
  if (!is_mcp) out.next_step = "codex runs a hook only after you trusted it: type /hooks in codex";
  return out;
}

JsonConfigEntry claude_hook() {
  ordered_json command = {{"type", "command"},
                          {"command", hook_command("-C \"${CLAUDE_PROJECT_DIR:-.}\" ", "claude")},
                          {"timeout", 60},
                          {"onFailure", "block"}};
  ordered_json value;
  value["matcher"] = "*";
  value["hooks"] = ordered_json::array();
  value["hooks"].push_back(std::move(command));
  return {{"hooks", "PreToolUse"}, std::move(value), true};
}

Result<AgentEntry> claude_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  if (part == AgentPart::kHook) {
    const std::string folder = in(is_user ? places.home : places.project, kClaudeFolder);
    AgentEntry out{part, {folder + "/settings.json"}, claude_hook(), false, {folder}, ""};
    if (!is_user) out.next_step = "Claude Code" + std::string(kNotBelow);
    return out;
  }
  if (is_user) {
    return no_such_part(
        "Claude Code keeps a user's MCP servers in a file that it rewrites itself; run: claude mcp "
        "add --scope user galley -- galley mcp --agent claude");
  }
  ordered_json value = {{"command", "galley"}};
  value["args"] = {"mcp", "--agent", "claude"};
  return AgentEntry{part,
                    {in(places.project, kClaudeServers)},
                    JsonConfigEntry({"mcpServers", "galley"}, std::move(value), false),
                    false,
                    {},
                    "Claude Code asks once whether to use the server of this project"};
}

AgentEntry gemini_entry(AgentPart part, AgentScope scope, const AgentPlaces& places) {
  const bool is_user = scope == AgentScope::kUser;
  const std::string folder = in(is_user ? places.home : places.project, kGeminiFolder);
  ordered_json value = ordered_json::object();
  if (part == AgentPart::kHook) {
    ordered_json command = {{"name", "galley"},
                            {"type", "command"},
                            {"command", hook_command("-C \"${GEMINI_PROJECT_DIR:-.}\" ", "gemini")},
                            {"timeout", 60000}};
    value["hooks"] = ordered_json::array();
    value["hooks"].push_back(std::move(command));
  } else {
    value["command"] = "galley";
    value["args"] = {"mcp", "--agent", "gemini", "--profile", "gemini"};
  }
  JsonConfigEntry entry = part == AgentPart::kHook
                              ? JsonConfigEntry({"hooks", "BeforeTool"}, std::move(value), true)
                              : JsonConfigEntry({"mcpServers", "galley"}, std::move(value), false);
  AgentEntry out{part, {folder + "/settings.json"}, std::move(entry), false, {folder}, ""};
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
            GeneratedFile("", "//", std::string(kOpencodePlugin)),
            false,
            {folder + "/plugin", folder},
            ""};
  }
  ordered_json value = {{"type", "local"}};
  value["command"] = {"galley", "mcp", "--agent", "opencode"};
  AgentEntry out{part,
                 {in(own, kOpencodeFile), in(own, kOpencodeFileWithComments)},
                 JsonConfigEntry({"mcp", "galley"}, std::move(value), false),
                 false,
                 {},
                 ""};
  if (is_user) out.folders.push_back(own);
  return out;
}

AgentEntry wrapper_entry(std::string_view agent, const AgentPlaces& places) {
  const std::string name(agent);
  const std::string folder = places.home + "/.local/bin";
  return {AgentPart::kWrapper,
          {folder + "/galley-" + name},
          GeneratedFile("#!/bin/sh\n", "#",
                        "# Runs " + name + " inside of a transaction. 'galley agents uninstall " +
                            name + " --wrapper' removes this file.\nexec galley run " + name +
                            " \"$@\"\n"),
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

Result<AgentEntry> agent_entry(std::string_view agent, AgentPart part, AgentScope scope,
                               const AgentPlaces& places) {
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
    if (scope == AgentScope::kUser) return wrapper_entry(agent, places);
    return no_such_part("a wrapper belongs to you, not to a project: add --user");
  }
  if (!is_configured) {
    return no_such_part("Galley does not write into the files of " + std::string(agent) +
                        "; add --run or --wrapper, for galley run");
  }
  if (agent == "codex") return codex_entry(part, scope, places);
  if (agent == "claude") return claude_entry(part, scope, places);
  if (agent == "gemini") return gemini_entry(part, scope, places);
  return opencode_entry(part, scope, places);
}

}  // namespace galley
