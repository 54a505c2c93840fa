#pragma once

#include <optional>
#include <vector>

#include "engine/stages/run_folder.h"

namespace galley {

/// The processes above this one, nearest first.
[[nodiscard]] std::vector<ProcessIdentity> processes_above();

/// The agent that called this hook: the nearest process above it whose command line does not have
/// the hook's command, as shells and launchers between them do.
[[nodiscard]] std::optional<ProcessIdentity> calling_agent();

}  // namespace galley
