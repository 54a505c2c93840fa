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

}  // namespace galley
