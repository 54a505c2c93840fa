#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/ref_updates.h"
#include "staging/git/git_program.h"

namespace galley {

/// Whether the gate approves the commits that an update of a reference adds to the repository in
/// this directory, whatever GIT_DIR etc. name. Prints the reasons of a refusal.
Result<bool> judge_update(Session& session, const RefUpdate& update, const std::string& directory);

/// Whether a merge is in progress, so that the next commit has several parents.
[[nodiscard]] Result<bool> is_merging(const GitProgram& git);

/// `galley hook install`, `uninstall` and `run`.
Result<int> run_hook(Session& session);

}  // namespace galley
