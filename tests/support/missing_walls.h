#pragma once

#include <string>
#include <utility>

#include "base/clock.h"
#include "staging/sandbox/sandbox.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// Returns why the user of this process cannot run commands behind all walls, or on a copy, on this
/// machine. It is empty when `true` can be run.
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
  // Any other failure is left for the test itself to find.
  return result || result.error().reason != "sandbox.unavailable" ? "" : result.error().message;
}

}  // namespace galley
