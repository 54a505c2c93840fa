#include "server/agents/hook_switches.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/policy/agent_files.h"
#include "engine/policy/toml_document.h"

namespace galley {
namespace {

using nlohmann::json;

/// A switch that is a boolean. Documented for Claude Code 2.1, Gemini CLI 0.61 (and its `tools` and
/// `hooks` for versions before 0.26) and codex, whose second name is an alias.
struct NamedSwitch {
  std::string_view agent;
  std::string_view object;  ///< empty: the key is at the top
  std::string_view key;
  bool off = false;
};
constexpr std::array<NamedSwitch, 6> kSwitches = {{
    {"claude", "", "disableAllHooks", true},
    {"gemini", "hooksConfig", "enabled", false},
    {"gemini", "tools", "enableHooks", false},
    {"gemini", "hooks", "enabled", false},
    {"codex", "features", "hooks", false},
    {"codex", "features", "codex_hooks", false},
}};

std::string name_of(const NamedSwitch& one) {
  return (one.object.empty() ? "" : std::string(one.object) + ".") + std::string(one.key);
}

const json* member(const json* object, std::string_view key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

std::vector<HookSwitch> switches_of_json(std::string_view agent, const std::string& text) {
  std::vector<HookSwitch> all;
  const json document = json::parse(plain_json(text), nullptr, false);
  for (const NamedSwitch& one : kSwitches) {
    if (one.agent != agent) continue;
    const json* value = one.object.empty() ? &document : member(&document, one.object);
    value = member(value, one.key);
    if (value != nullptr && value->is_boolean()) all.push_back({name_of(one), *value == one.off});
  }
  // Gemini CLI switches single hooks off by name.
  const json* disabled = member(member(&document, "hooksConfig"), "disabled");
  const bool is_named = agent == "gemini" && disabled != nullptr && disabled->is_array() &&
                        std::find(disabled->begin(), disabled->end(), "galley") != disabled->end();
  if (is_named) all.push_back({"hooksConfig.disabled", true});
  return all;
}

std::vector<HookSwitch> switches_of_toml(std::string_view agent, const std::string& text) {
  std::vector<HookSwitch> all;
  const auto document = parse_toml(text, "");
  for (const NamedSwitch& one : kSwitches) {
    if (one.agent != agent || !document) continue;
    const TomlNode* object = document->find(one.object);
    const bool is_table = object != nullptr && object->kind == TomlNode::Kind::kTable;
    const TomlNode* value = is_table ? object->find(one.key) : nullptr;
    if (value != nullptr && value->kind == TomlNode::Kind::kBoolean) {
      all.push_back({name_of(one), value->flag == one.off});
    }
  }
  return all;
}

}  // namespace

std::vector<std::string> hook_switch_files(std::string_view agent, const AgentPlaces& places) {
  const auto in = [](const std::string& folder, std::string_view name, const char* file) {
    return folder + "/" + std::string(name) + file;
  };
  if (agent == "claude") {
    return {in(places.project, kClaudeFolder, "/settings.local.json"),
            in(places.project, kClaudeFolder, "/settings.json"),
            places.claude_home + "/settings.json"};
  }
  if (agent == "gemini") {
    return {in(places.project, kGeminiFolder, "/settings.json"),
            places.gemini_home + "/settings.json"};
  }
  if (agent == "codex") {
    return {in(places.project, kCodexFolder, "/config.toml"), places.codex_home + "/config.toml"};
  }
  return {};
}

std::vector<HookSwitch> hook_switches(std::string_view agent, const std::string& text) {
  return agent == "codex" ? switches_of_toml(agent, text) : switches_of_json(agent, text);
}

}  // namespace galley
