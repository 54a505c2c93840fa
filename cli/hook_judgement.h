#pragma once

#include "base/result.h"
#include "cli/session.h"

namespace galley {

/// pre-commit: what is staged.
Result<int> judge_staged(Session& session);
/// pre-push, pre-receive and update: every updated reference of one push, all of them before the
/// answer. One that is refused refuses the push.
Result<int> judge_push(Session& session);

}  // namespace galley
