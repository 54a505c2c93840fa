#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "staging/sandbox/sandbox.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// What the program says is missing for the user of this process to run commands behind all walls,
/// or on a copy; empty when `true` can be run.
inline std::string missing_walls(const std::string& helper, bool on_copy = false) {
  const TempDirectory tree;
  const SystemClock clock;
  SandboxOptions options;
  options.workspace = tree.path();
  options.helper = helper;
  options.force_copy = on_copy;
  const auto runner = make_sandbox(std::move(options), clock);
  if (!runner) return runner.error().message;
  Overlay overlay(tree.directory(), make_memory_store(), clock);
  Command command;
  command.argv = {"true"};
  const auto result = (*runner)->run(command, overlay);
  // Any other failure is one that a test should meet.
  return result || result.error().reason != "sandbox.unavailable" ? "" : result.error().message;
}

/// Skips the running test for this reason unless it is empty. Whoever sets GALLEY_REQUIRE_SANDBOX=1
/// says that the machine has all walls: there it fails.
inline void skip_without_walls(const std::string& missing) {
  if (missing.empty()) return;
  const char* required = std::getenv("GALLEY_REQUIRE_SANDBOX");
  if (required != nullptr && std::string_view(required) == "1") {
    GTEST_FAIL() << "GALLEY_REQUIRE_SANDBOX=1, but " << missing;
  }
  GTEST_SKIP() << missing;
}

}  // namespace galley
