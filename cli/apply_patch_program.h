#pragma once

#include <string_view>

#include "cli/session.h"

namespace galley {

/// Whether the program was called as `apply_patch`, through a link.
[[nodiscard]] bool is_apply_patch(std::string_view argv0);

/// Runs `apply_patch PATCH` and `apply_patch < PATCH`. The syntax is that of the program that
/// models know, but the patch is applied completely or not at all, and through the gate. Paths are
/// relative to the current directory. The words of the session are the program's arguments. Returns
/// the exit status: 0, or 1 with the reason on stderr, or 2 for wrong usage.
int run_apply_patch(Session& session);

}  // namespace galley
