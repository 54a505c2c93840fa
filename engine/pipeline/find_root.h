#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy/user_config.h"

namespace galley {

/// The root of a workspace.
struct FoundRoot {
  std::string path;
  std::vector<std::string> notices;  ///< one line per folder that was ignored, with the way out
};

/// Returns the root of the workspace that contains `start` (absolute, links resolved).
///
///     the nearest directory upwards with a `.git` or a `.galley` that is believed
///     else the outermost one with a `galley.toml` or any other `.galley`
///     else `start` itself
///
/// So a galley.toml or a copied `.galley` in a subfolder of a repository or workspace does not make
/// a new root. If another user owns the galley.toml or `.galley` of a directory above `start`, that
/// directory is ignored with a notice: it neither rules nor blocks the folders below it.
/// Errors: kRefused `workspace.foreign_owner` when another user owns the configuration or the state
///         of the root itself, or the root that has them, and no safe_directories names it.
[[nodiscard]] Result<FoundRoot> find_root(const std::string& start, const UserConfig& user);

/// Checks, before the first `.galley` of a root is created, that the folder is not another user's:
/// find_root() would refuse that root from then on.
/// Errors: kRefused `workspace.foreign_owner`.
[[nodiscard]] Result<void> check_owner_of_root(const Directory& root, const std::string& path,
                                               const UserConfig& user);

}  // namespace galley
