#include "cli/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "cli/help.h"
#include "engine/policy/config.h"
#include "engine/policy/user_config.h"
#include "tools/profiles.h"
#include "tools/shapes.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

Json reasons() { return Json::parse(reference_text::kReasons); }

std::string key_text(const ConfigKey& key, std::string_view file) {
  std::string text = fmt::format("{} = {}\n\n{}\nA key of {}; type: {}.\n", key.key,
                                 key.default_value, key.meaning, file, key.type);
  if (!key.untrusted.empty()) text += fmt::format("Until you trust it: {}.\n", key.untrusted);
  return text;
}

/// `policy.rule.paths` for `policy.rule[].paths`.
std::string short_name(const ConfigKey& key) {
  std::string name = key.key;
  std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
  return name;
}

Json rows_json(const std::vector<HelpRow>& rows) {
  Json list = Json::array();
  for (const HelpRow& row : rows) {
    list.push_back({{"names", row.names}, {"value", row.value}, {"about", row.about}});
  }
  return list;
}

void add_command_json(const CLI::App& command, Json& list) {
  const std::string usage = usage_line(command);
  const size_t begin = usage.find(' ') + 1;
  list.push_back({{"command", command_path(command)},
                  {"group", command.get_group()},
                  {"usage", usage.substr(begin, usage.size() - begin - 1)},
                  {"about", command.get_description()},
                  {"arguments", rows_json(argument_rows(command))},
                  {"options", rows_json(option_rows(command))}});
  for (const CLI::App* member : shown_commands(command)) add_command_json(*member, list);
}

Json keys_json(const std::vector<ConfigKey>& keys) {
  Json list = Json::array();
  for (const ConfigKey& key : keys) {
    list.push_back({{"key", key.key},
                    {"type", key.type},
                    {"default", key.default_value},
                    {"meaning", key.meaning},
                    {"untrusted", key.untrusted}});
  }
  return list;
}

Json profiles_json() {
  Json list = Json::array();
  for (const ToolProfile& profile : profiles()) {
    std::vector<std::string> tools;
    for (const ToolProfile::Row& row : profile.tools) tools.push_back(row.tool);
    list.push_back({{"name", profile.name}, {"about", profile.about}, {"tools", tools}});
  }
  return list;
}

Json shapes_json() {
  Json list = Json::array();
  for (const ToolShape& shape : tool_shapes()) {
    list.push_back({{"name", shape.name},
                    {"about", shape.about},
                    {"codes", shape.codes},
                    {"internal_code", shape.internal_code}});
  }
  return list;
}

}  // namespace

namespace {

/// Whether the key, or a table of it, has this name. NAME in a key stands for any name.
bool is_at_or_in(std::string_view key, std::string_view name) {
  for (;;) {
    const std::string_view part = name.substr(0, name.find('.'));
    const std::string_view known = key.substr(0, key.find('.'));
    if (part != known && (known != "NAME" || part.empty())) return false;
    if (part.size() == name.size()) return true;
    if (known.size() == key.size()) return false;
    name.remove_prefix(part.size() + 1);
    key.remove_prefix(known.size() + 1);
  }
}

}  // namespace

std::string word_help(std::string_view asked, bool is_table) {
  std::string text;
  // As in a file: `[agents."*"]`, `[[policy.rule]]`. A dot between quotes is a part of a name.
  std::string word;
  char quote = '\0';
  for (const char c : asked) {
    const bool is_quote = quote == '\0' ? c == '"' || c == '\'' : c == quote;
    if (is_quote) quote = quote == '\0' ? c : '\0';
    if (is_quote || c == '[' || c == ']') continue;
    word += c == '.' && quote != '\0' ? '-' : c;
  }
  if (word.ends_with('.')) word.pop_back();
  const auto depth = std::count(word.begin(), word.end(), '.');
  const Json all = reasons();
  if (const auto found = all.find(word); found != all.end()) {
    text = fmt::format("{} ({})\n\n{}\n{}\n", word, found->at(0).get<std::string>(),
                       found->at(1).get<std::string>(), found->at(2).get<std::string>());
  }
  const auto add_keys = [&](const std::vector<ConfigKey>& keys, std::string_view file) {
    std::string list;
    for (const ConfigKey& key : keys) {
      const std::string name = short_name(key);
      const bool is_named = is_at_or_in(name, word);
      if (is_named && std::count(name.begin(), name.end(), '.') == depth) {
        text += (text.empty() ? "" : "\n") + key_text(key, file);
      } else if (word == file || ((is_table || depth > 0) && is_named)) {
        list += fmt::format("  {}\n      {}\n", name, key.meaning);
      }
    }
    if (list.empty() || !text.empty()) return;
    text = fmt::format("Keys of {}; `galley help KEY` shows one:\n{}", file, list);
  };
  add_keys(config_keys(), "galley.toml");
  add_keys(user_config_keys(), "config.toml");
  return text;
}

std::string word_suggestion(std::string_view word) {
  std::vector<std::string> known;
  const Json all = reasons();
  for (const auto& [reason, texts] : all.items()) known.push_back(reason);
  for (const ConfigKey& key : config_keys()) known.push_back(short_name(key));
  for (const ConfigKey& key : user_config_keys()) known.push_back(key.key);
  return did_you_mean(word, known);
}

std::string reference_document(const OptionTable& table) {
  Json commands = Json::array();
  for (const CLI::App* command : shown_commands(table.app())) add_command_json(*command, commands);
  Json statuses = Json::array();
  for (const ExitStatusText& one : exit_status_texts()) {
    statuses.push_back({{"status", one.status}, {"meaning", one.meaning}});
  }
  Json variables = Json::array();
  for (const VariableText& one : variable_texts()) {
    variables.push_back({{"name", one.name}, {"meaning", one.meaning}});
  }
  const Json document = {{"schema", "galley.reference/1"},
                         {"options", rows_json(option_rows(table.app()))},
                         {"commands", commands},
                         {"exit_statuses", statuses},
                         {"variables", variables},
                         {"keys", keys_json(config_keys())},
                         {"own_keys", keys_json(user_config_keys())},
                         {"reasons", reasons()},
                         {"profiles", profiles_json()},
                         {"shapes", shapes_json()}};
  return document.dump(2) + "\n";
}

}  // namespace galley
