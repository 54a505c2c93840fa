#pragma once

#include <galley/workspace.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace galley {

/// Opens the tree of a revision of a git repository as a workspace: the same transactions, tools,
/// rules and diffs, on contents as git stores them. The galley.toml of the tree counts. Nothing is
/// laid out but for commands, and nothing is written: neither the work tree nor its `.galley` is
/// looked at, a bare repository will do, and whatever would keep or commit something is refused
/// (kRefused `workspace.tree`). What comes out of a transaction is its proposal.
///
/// `directory` lies in the repository. Of the options `runner` counts before the sandbox.
/// Errors: those of GitProgram and Workspace::open; kUsage `git.no_such_revision`.
[[nodiscard]] Result<std::unique_ptr<Workspace>> open_tree_workspace(const std::string& directory,
                                                                     const std::string& revision,
                                                                     WorkspaceOptions options = {});

}  // namespace galley
