#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"

namespace galley {

/// A person's own configuration, `$XDG_CONFIG_HOME/galley/config.toml`. It is outside every
/// workspace, so it is always trusted. It applies to all workspaces.
struct UserConfig {
  std::vector<std::string> trusted_folders;   ///< workspaces at or below these are trusted
  std::vector<std::string> safe_directories;  ///< roots of other users; `/x/*`: all below /x; `*`
  bool edits_configuration = false;           ///< proposals may change galley.toml
  bool unattended = false;                    ///< a person's commands may run without a terminal
  std::optional<HookMode> hook_mode;          ///< instead of the workspaces' own
  bool hook_asks = false;                     ///< as hook.ask, in every workspace
  std::vector<std::string> before_apply;      ///< hook on the host: an absolute program first
  std::vector<std::string> after_apply;
  uint32_t hook_timeout_ms = 1'800'000;  ///< of one of these hooks; 0: no limit
};

/// Parses the text of such a file.
/// Errors: as parse_config; kInvalid `config.value` for a folder or program that is not absolute.
[[nodiscard]] Result<UserConfig> parse_user_config(std::string_view text, std::string_view file);

/// Returns every key, in the order in which the parser reads them.
[[nodiscard]] std::vector<ConfigKey> user_config_keys();

}  // namespace galley
