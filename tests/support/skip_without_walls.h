#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace galley {

/// Skips the running test with this reason, unless the reason is empty. With
/// GALLEY_REQUIRE_SANDBOX=1 the machine must have all walls, so the test fails instead.
inline void skip_without_walls(const std::string& missing) {
  if (missing.empty()) return;
  const char* required = std::getenv("GALLEY_REQUIRE_SANDBOX");
  if (required != nullptr && std::string_view(required) == "1") {
    GTEST_FAIL() << "GALLEY_REQUIRE_SANDBOX=1, but " << missing;
  }
  GTEST_SKIP() << missing;
}

}  // namespace galley
