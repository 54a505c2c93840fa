#pragma once

#include <string>

#include "support/tree_state.h"

namespace galley {

/// The text of a file of Galley's own sources.
inline std::string source_file(const std::string& path) {
  return slurp(std::string(GALLEY_SOURCE_DIR) + "/" + path);
}

}  // namespace galley
