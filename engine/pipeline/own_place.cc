#include "engine/pipeline/own_place.h"

#include <string>

#include "engine/commit/state_format.h"

namespace galley {

Result<RelPath> own_place(const StateDirectory& state, std::string_view name) {
  return RelPath::parse(std::string(name) + "/" + uuid_text(state.workspace_id()));
}

}  // namespace galley
