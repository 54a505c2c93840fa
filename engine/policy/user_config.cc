#include "engine/policy/user_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/policy/config_table.h"

namespace galley {
namespace {

/// Removes what no root has in its path: `/./`, `//` and a slash at the end. A `..` stays, because
/// behind a link it means another folder than the text says.
std::string shortened(std::string_view folder) {
  std::string shorter;
  for (size_t begin = 0; begin < folder.size();) {
    const size_t end = std::min(folder.find('/', begin), folder.size());
    const std::string_view name = folder.substr(begin, end - begin);
    if (!name.empty() && name != ".") shorter.append("/").append(name);
    begin = end + 1;
  }
  return shorter.empty() ? "/" : shorter;
}

/// A slip such as `/.` or `/srv/*/` must not select everything, or all below a folder.
void read_folders(ConfigTable& table, std::string_view key, std::vector<std::string>& folders,
                  bool takes_star) {
  table.texts(key, folders);
  for (std::string& folder : folders) {
    if (takes_star && folder == "*") continue;
    if (!folder.starts_with('/')) {
      return table.refuse(key, fmt::format("takes absolute paths; \"{}\" is not one", folder));
    }
    std::string shorter = shortened(folder);
    const bool selects_all = shorter == "/" || shorter == "/*";
    const bool gets_star = shorter.ends_with("/*") && !folder.ends_with("/*");
    if (folder != shorter && (selects_all || gets_star)) {
      return table.refuse(key,
                          fmt::format("has \"{}\"; if it is meant, write \"{}\"", folder, shorter));
    }
    folder = std::move(shorter);
  }
}

void read_hook(ConfigTable& table, std::string_view key, std::vector<std::string>& command) {
  table.texts(key, command);
  if (command.empty() || command.front().starts_with('/')) return;
  table.refuse(key, fmt::format("needs the absolute path of its program; \"{}\" is not one",
                                command.front()));
}

void read_user_root(ConfigTable& root, UserConfig& config) {
  read_folders(root, "trusted_folders", config.trusted_folders, false);
  read_folders(root, "safe_directories", config.safe_directories, true);
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
