#pragma once

#include <string>
#include <vector>

#include "engine/commit/recovery.h"

namespace galley {

/// One line for each transaction that a crash interrupted: whether it was finished or taken back,
/// or would be in a dry run, and how many paths that took. Nothing for what was complete already.
[[nodiscard]] std::vector<std::string> repairs_of(const RecoveryReport& report, bool dry_run);

}  // namespace galley
