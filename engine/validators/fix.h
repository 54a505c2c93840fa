#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// What one fixer did.
struct FixRun {
  std::string validator;
  std::vector<RelPath> changed;  ///< staged in the overlay
  std::vector<RelPath>
      left_out;  ///< it changed these too, but may not: not selected, or not a file
};

/// Who asks, what runs the programs, and within which bounds.
struct FixRequest {
  CommandRunner& runner;
  const Clock& clock;
  Principals who;
  Deadline deadline;
  std::stop_token stop;
};

/// What the fixers made of what was staged.
struct FixReport {
  std::vector<FixRun> runs;
  Proposal change;  ///< from what was staged before to what is now: the fixers' own change
};

/// Runs every validator with `fix = true`, in order, on what the overlay proposes, and stages what
/// each makes of the files it selects. Other files stay as they are.
///
/// Errors: as the runner's; the overlay is then as it was.
[[nodiscard]] Result<FixReport> fix_staged(const Config& config, Overlay& overlay,
                                           const FixRequest& request);

}  // namespace galley
