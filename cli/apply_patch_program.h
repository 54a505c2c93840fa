#pragma once

#include <string_view>

#include "cli/session.h"

namespace galley {

/// Whether the program was called by the name of the tool: a link `apply_patch` to it.
[[nodiscard]] bool is_apply_patch(std::string_view argv0);

/// What `apply_patch PATCH` and `apply_patch < PATCH` do: as models know that program, but all of
/// the patch or nothing, and through the gate. Paths are meant from the current directory. Returns
/// the exit status: 0, or 1 with the reason on stderr, 2 for a wrong call. The words of the session
/// are the program's arguments.
int run_apply_patch(Session& session);

}  // namespace galley
