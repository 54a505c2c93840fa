#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A folder below `.galley` under a name that nobody knows who does not know the workspace's id:
/// what git or an archive put there is never found.
[[nodiscard]] Result<RelPath> own_place(const StateDirectory& state, std::string_view name);

}  // namespace galley
