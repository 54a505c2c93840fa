#include "engine/policy/user_config.h"

#include <fmt/core.h>

#include "engine/policy/config_table.h"

namespace galley {
namespace {

void check_absolute(ConfigTable& table, std::string_view key,
                    const std::vector<std::string>& folders, bool takes_star) {
  for (const std::string& folder : folders) {
    if (folder.starts_with('/') || (takes_star && folder == "*")) continue;
    return table.refuse(key, fmt::format("takes absolute paths; \"{}\" is not one", folder));
  }
}

void read_hook(ConfigTable& table, std::string_view key, std::vector<std::string>& command) {
  table.texts(key, command);
  if (command.empty() || command.front().starts_with('/')) return;
  table.refuse(key, fmt::format("needs the absolute path of its program; \"{}\" is not one",
                                command.front()));
}

void read_user_root(ConfigTable& root, UserConfig& config) {
  root.texts("trusted_folders", config.trusted_folders);
  check_absolute(root, "trusted_folders", config.trusted_folders, false);
  root.texts("safe_directories", config.safe_directories);
  check_absolute(root, "safe_directories", config.safe_directories, true);
  root.flag("edits_configuration", config.edits_configuration);
  root.flag("unattended", config.unattended);
  root.table("commit", [&](ConfigTable& table) {
    read_hook(table, "before_apply", config.before_apply);
    read_hook(table, "after_apply", config.after_apply);
    table.count("hook_timeout_ms", config.hook_timeout_ms);
  });
  root.table("hook", [&](ConfigTable& table) {
    HookMode mode = HookMode::kCommit;
    table.choice(
        "mode", mode,
        ConfigTable::Choices<HookMode>{{"commit", HookMode::kCommit}, {"stage", HookMode::kStage}});
    if (table.has("mode")) config.hook_mode = mode;
    table.flag("ask", config.hook_asks);
  });
}

}  // namespace

Result<UserConfig> parse_user_config(std::string_view text, std::string_view file) {
  UserConfig config;
  GALLEY_TRY(
      read_configuration(text, file, [&](ConfigTable& root) { read_user_root(root, config); }));
  return config;
}

std::vector<ConfigKey> user_config_keys() {
  UserConfig defaults;
  return keys_read_by([&](ConfigTable& root) { read_user_root(root, defaults); },
                      user_config_key_texts());
}

}  // namespace galley
