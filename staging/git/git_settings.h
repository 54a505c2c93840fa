#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// A setting of git and the value that it gets.
struct GitSetting {
  std::string key;  ///< as git writes it: `filter.NAME.clean`; NAME may hold any byte but a newline
  std::string value;

  bool operator==(const GitSetting&) const = default;
};

/// What has to be set so that git runs no program that the repository names, given the output of
/// `git config --list --show-scope -z`. Settings of the person (system, global, command) stay,
/// except filters, since the repository chooses the files that they run on.
///
/// A filter becomes none (its file is taken as it is), a signature is not made, a helper, hook,
/// driver, editor, pager or alias is empty. Every key whose last part names a program by its word
/// is covered, so a key of a newer git with such a word is, too.
/// Source: git-config(1), gitattributes(5) of git 2.39 to 2.52.
/// Errors: kInvalid `git.odd_config` for an output that is cut off.
Result<std::vector<GitSetting>> disarm_repository(std::string_view listed);

/// The settings as environment: GIT_CONFIG_COUNT and its keys and values, behind those that the
/// environment of this process has. Unlike `-c`, that holds for a key with any byte.
[[nodiscard]] std::vector<std::string> environment_of_settings(
    const std::vector<GitSetting>& settings);

}  // namespace galley
