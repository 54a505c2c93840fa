#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// A git setting and its value.
struct GitSetting {
  std::string key;  ///< as git writes it: `filter.NAME.clean`; NAME may hold any byte but a newline
  std::string value;

  bool operator==(const GitSetting&) const = default;
};

/// The settings with which git runs no program that the repository names, from the output of
/// `git config --list --show-scope -z`. The person's settings (system, global, command) stay,
/// except filters: the repository chooses which files those run on.
///
/// Filters are disabled (files are taken unchanged), signatures are not made, and helpers, hooks,
/// drivers, editors, pagers and aliases become empty. A key is covered if its last part contains a
/// word for a program, so keys of newer git versions are covered, too.
/// Source: git-config(1), gitattributes(5) of git 2.39 to 2.52.
/// Errors: kInvalid `git.odd_config` for truncated output.
Result<std::vector<GitSetting>> disarm_repository(std::string_view listed);

/// The settings as environment variables: GIT_CONFIG_COUNT and its keys and values, after those
/// that the environment of this process already has. Unlike `-c`, this works for keys with any
/// byte.
[[nodiscard]] std::vector<std::string> environment_of_settings(
    const std::vector<GitSetting>& settings);

}  // namespace galley
