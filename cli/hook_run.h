#pragma once

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// `galley hook install`, `uninstall` and `run`.
int run_hook(Session& session);

/// `galley hook run NAME [ARGUMENT...]`: does what that hook of git is for, with the arguments and
/// the standard input that git gives it.
Result<int> run_git_hook(Session& session);

}  // namespace galley
