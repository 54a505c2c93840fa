#pragma once

#include <galley/workspace.h>

#include <string>
#include <string_view>

#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Below the workspace's root: where its state keeps this (StateDirectory::own).
inline std::string own_file(const Workspace& workspace, std::string_view place) {
  return ".galley/" + persistent_of(workspace).state()->own(place).str();
}

}  // namespace galley
