#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace galley {

/// Returns whether galley-syntax was built with the tests. If GALLEY_REQUIRE_SYNTAX is set, it
/// returns true, so that a test fails instead of being skipped.
inline bool has_syntax_component() {
  const std::string path = std::string(GALLEY_BINARY_DIR) + "/galley-syntax";
  return std::getenv("GALLEY_REQUIRE_SYNTAX") != nullptr || access(path.c_str(), X_OK) == 0;
}

}  // namespace galley
