#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// A git setting and its value.
struct GitSetting {
  std::string key;  ///< such as `filter.NAME.clean`; NAME may have any byte except a newline
  std::string value;

  bool operator==(const GitSetting&) const = default;
};

/// Returns settings with which git runs no program that the repository names. `listed` is the
/// output of `git config --list --show-scope -z`. The person's own settings (system, global,
/// command) stay, except for filters, because the repository chooses the files on which they run.
///
/// Only the repository's keys that are known to name no program pass. Filters and signatures are
/// disabled, and every other key becomes empty: helpers, hooks, drivers, editors, pagers, aliases,
/// and what only a newer git or another program reads.
/// Source: git-config(1), gitattributes(5) of git 2.39 to 2.52.
/// Errors: kInvalid `git.odd_config` for truncated output.
Result<std::vector<GitSetting>> program_overrides(std::string_view listed);

/// Whether the same list asks for signed commits (`commit.gpgSign`), in any scope.
[[nodiscard]] bool asks_for_signatures(std::string_view listed);

/// Returns the first key of the repository itself that decides where a push goes, or how safely: an
/// address that stands for another one, a setting of HTTP, or the program of a proxy. `listed` is
/// as above.
[[nodiscard]] std::string key_that_redirects(std::string_view listed);

/// Returns the settings as environment variables: GIT_CONFIG_COUNT and its keys and values. They
/// follow those that the environment of this process already has. Unlike `-c`, this works for keys
/// with any byte.
[[nodiscard]] std::vector<std::string> environment_of_settings(
    const std::vector<GitSetting>& settings);

}  // namespace galley
