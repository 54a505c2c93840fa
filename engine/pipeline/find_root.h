#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy/user_config.h"

namespace galley {

/// Where a workspace was found, and what was passed by on the way.
struct FoundRoot {
  std::string path;
  std::vector<std::string> notices;  ///< one line each: what was not believed, and the way out
};

/// The root of the workspace that `start` (absolute, links resolved) lies in.
///
///     the nearest directory upwards with a `.git` or a `.galley` that is believed
///     else the outermost one with a `galley.toml` or any other `.galley`
///     else `start` itself
///
/// So a galley.toml, or a `.galley` that came with the files, below the root of a repository or of
/// a workspace makes no new root. A directory above `start` in which another user has a galley.toml
/// or `.galley` is passed by with a notice: it neither rules nor blocks what lies below it.
/// Errors: kRefused `workspace.foreign_owner` when another user owns the configuration or the state
///         of the root itself, or the root that has them, and no safe_directories names it.
[[nodiscard]] Result<FoundRoot> find_root(const std::string& start, const UserConfig& user);

/// Asked before anything runs or is written that would make the first `.galley` of a root: in a
/// folder of another user find_root() would refuse it from then on.
/// Errors: kRefused `workspace.foreign_owner`.
[[nodiscard]] Result<void> check_owner_of_root(const Directory& root, const std::string& path,
                                               const UserConfig& user);

}  // namespace galley
