#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "engine/policy/user_config.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

class GitBranch;

/// A tree of git that a workspace shows instead of the files at its path.
///
/// Ownership: the workspace shares it.
/// Threads:   all threads of the workspace use `files` and `make_runner`.
struct WorkspaceTree {
  std::shared_ptr<const Directory> files;
  std::function<std::string()> name;  ///< as ProposedTree's base_name: it identifies the files
  /// Makes a runner of commands on `files`. It may borrow the configuration and the clock. The last
  /// argument is GuardedRunnerOptions::scratch_home.
  std::function<std::unique_ptr<CommandRunner>(const Config&, const Principals&, const Clock&,
                                               std::function<Result<std::string>()>)>
      make_runner;
  std::shared_ptr<const GitBranch> branch;  ///< gets the commits; null: the tree is read-only
  std::string rules;  ///< of a branch: the id of galley.toml at the open; empty: none
};

/// The location and the files of a workspace, for reading. Only PersistentState can write.
///
/// Ownership: borrows the files and the given clock; shares the tree.
/// Threads:   constant after Workspace::open().
struct Place {
  std::string path;                           ///< absolute path of the root
  std::string home;                           ///< absolute path of the directory with `.galley`
  const Directory* disk = nullptr;            ///< the files at `path`
  std::shared_ptr<const WorkspaceTree> tree;  ///< shown instead of `disk`, unless null
  const Clock* given_clock = nullptr;         ///< null: the system's clock
  SystemClock system_clock = {};

  [[nodiscard]] const Directory& files() const { return tree != nullptr ? *tree->files : *disk; }
  /// The branch of a git workspace; null for other workspaces.
  [[nodiscard]] const GitBranch* branch() const {
    return tree != nullptr ? tree->branch.get() : nullptr;
  }
  [[nodiscard]] const Clock& clock() const {
    return given_clock != nullptr ? *given_clock : system_clock;
  }
};

/// Checks that the folder was not moved away or replaced since it was opened: the open files are
/// those of the old folder, and the paths lead to the new one.
/// Errors: kIo `workspace.moved`.
[[nodiscard]] Result<void> check_not_moved(const Place& place);

/// The root of a workspace.
struct FoundRoot {
  std::string path;
  std::vector<std::string> notices;  ///< one line, with a remedy, per ignored folder
  bool is_marked = false;            ///< something there makes it a root
};

/// Returns the root of the workspace that contains `start` (absolute, links resolved).
///
///     the nearest directory upwards with a `.git` or a trusted `.galley`
///     else the outermost one with a `galley.toml` or any other `.galley`
///     else `start` itself
///
/// So a galley.toml or a copied `.galley` in a subfolder of a repository or workspace does not make
/// a new root. If another user owns the galley.toml or `.galley` of a directory above `start`, that
/// directory is ignored with a notice. It has no effect on the folders below it. So is a `.git`
/// that another user made in a folder of yours, or above `start`.
/// Errors: kRefused `workspace.foreign_owner` if the root has a configuration or state, another
///         user owns it or the root, and safe_directories does not list the root.
[[nodiscard]] Result<FoundRoot> find_root(const std::string& start, const UserConfig& user);

/// Checks that another user does not own the folder, before the first `.galley` is created in it.
/// Otherwise find_root() would refuse that root from then on.
/// Errors: kRefused `workspace.foreign_owner`.
[[nodiscard]] Result<void> check_owner_of_root(const Directory& root, const std::string& path,
                                               const UserConfig& user);

}  // namespace galley
