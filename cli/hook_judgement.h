#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/ref_updates.h"

namespace galley {

/// pre-commit: judges what is staged in git.
Result<int> judge_staged(Session& session);
/// pre-push, pre-receive and update: judges all updated references of a push before it returns. One
/// refusal refuses the push.
Result<int> judge_push(Session& session);

/// Whether the gate says yes to what an update of a reference of this repository brings. Says why
/// not.
Result<bool> judge_update(Session& session, const RefUpdate& update);

/// `galley hook install`, `uninstall` and `run`.
int run_hook(Session& session);

/// `galley hook run NAME [ARGUMENT...]`: does the work of the git hook of this name, with the
/// arguments and the standard input from git.
Result<int> run_git_hook(Session& session);

}  // namespace galley
