#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/ref_updates.h"

namespace galley {

/// pre-commit: what is staged.
Result<int> judge_staged(Session& session);
/// pre-push, pre-receive and update: every updated reference of one push, all of them before the
/// answer. One that is refused refuses the push.
Result<int> judge_push(Session& session);

/// Whether the gate says yes to what an update of a reference of this repository brings. Says why
/// not.
Result<bool> judge_update(Session& session, const RefUpdate& update);

/// `galley hook install`, `uninstall` and `run`.
int run_hook(Session& session);

/// `galley hook run NAME [ARGUMENT...]`: does what that hook of git is for, with the arguments and
/// the standard input that git gives it.
Result<int> run_git_hook(Session& session);

}  // namespace galley
