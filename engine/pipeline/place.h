#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// What a workspace shows in place of the files at its path: a tree that nobody writes.
///
/// Ownership: the workspace that is opened on it holds it.
/// Threads:   `files` and `make_runner` are used from all threads of the workspace.
struct WorkspaceTree {
  std::unique_ptr<const Directory> files;
  std::string name;  ///< as ProposedTree's base_name: the same name, the same files
  /// What runs commands on `files` for these; it may borrow configuration and clock.
  std::function<std::unique_ptr<CommandRunner>(const Config&, const Principals&, const Clock&)>
      make_runner;
};

/// Where a workspace is, and what transactions begin on and validators judge. It cannot write:
/// KeptState alone can.
///
/// Ownership: borrows the files and a clock that was given; shares the tree.
/// Threads:   does not change after Workspace::open().
struct Place {
  std::string path;                           ///< absolute path of the root
  const Directory* disk = nullptr;            ///< the files at `path`
  std::shared_ptr<const WorkspaceTree> tree;  ///< shown instead; null: `disk` is shown
  const Clock* given_clock = nullptr;         ///< null: the machine's
  SystemClock system_clock = {};

  [[nodiscard]] const Directory& files() const { return tree != nullptr ? *tree->files : *disk; }
  [[nodiscard]] const Clock& clock() const {
    return given_clock != nullptr ? *given_clock : system_clock;
  }
};

}  // namespace galley
