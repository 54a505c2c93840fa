#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy/user_config.h"

namespace galley {

/// The root of a workspace.
struct FoundRoot {
  std::string path;
  std::vector<std::string> notices;  ///< one line, with a remedy, per ignored folder
};

/// Returns the root of the workspace that contains `start` (absolute, links resolved).
///
///     the nearest directory upwards with a `.git` or a trusted `.galley`
///     else the outermost one with a `galley.toml` or any other `.galley`
///     else `start` itself
///
/// So a galley.toml or a copied `.galley` in a subfolder of a repository or workspace does not make
/// a new root. If another user owns the galley.toml or `.galley` of a directory above `start`, that
/// directory is ignored with a notice. It has no effect on the folders below it.
/// Errors: kRefused `workspace.foreign_owner` if the root has a configuration or state, another
///         user owns it or the root, and safe_directories does not list the root.
[[nodiscard]] Result<FoundRoot> find_root(const std::string& start, const UserConfig& user);

/// Checks that another user does not own the folder, before the first `.galley` is created in it.
/// Otherwise find_root() would refuse that root from then on.
/// Errors: kRefused `workspace.foreign_owner`.
[[nodiscard]] Result<void> check_owner_of_root(const Directory& root, const std::string& path,
                                               const UserConfig& user);

}  // namespace galley
