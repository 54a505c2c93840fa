#pragma once

#include <galley/workspace.h>

#include <string>
#include <string_view>

#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Returns the path of a place in the workspace's state (StateDirectory::own), relative to the
/// workspace's root.
inline std::string own_file(const Workspace& workspace, std::string_view place) {
  return ".galley/" + persistent_of(workspace).state()->own(place).str();
}

}  // namespace galley
