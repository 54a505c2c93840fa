#pragma once

#include <optional>
#include <vector>

#include "engine/stages/run_folder.h"

namespace galley {

/// The processes above this one, nearest first.
[[nodiscard]] std::vector<ProcessIdentity> processes_above();

/// The agent that called this hook: the nearest process above it that is neither a shell with the
/// hook's command nor a launcher of Galley.
[[nodiscard]] std::optional<ProcessIdentity> calling_agent();

}  // namespace galley
