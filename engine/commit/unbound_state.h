#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A file or folder that has the name of private state and is not where StateDirectory::own() puts
/// it: an earlier Galley left it, or a pull, an archive or a copy brought it. Nothing reads it.
struct UnboundState {
  std::string kind;   ///< "stage"
  std::string place;  ///< below `.galley`: "stage/0123456789ab"
};

/// All of it, by place. One look at each folder.
Result<std::vector<UnboundState>> unbound_state(const StateDirectory& state);

/// One line for people: what is ignored, why, and the way out.
[[nodiscard]] std::string told(const std::vector<UnboundState>& unbound);

/// Makes it the workspace's own, on a person's word.
/// Errors: kConflict `state.changed` when something of that name is kept already.
Result<void> bind_state(const StateDirectory& state, const UnboundState& unbound);

}  // namespace galley
