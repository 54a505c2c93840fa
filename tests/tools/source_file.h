#pragma once

#include <string>

#include "support/tree_state.h"

namespace galley {

/// Returns the text of a file in Galley's own sources.
inline std::string source_file(const std::string& path) {
  return slurp(std::string(GALLEY_SOURCE_DIR) + "/" + path);
}

}  // namespace galley
