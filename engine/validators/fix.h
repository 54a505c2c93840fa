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

/// The result of one fixer.
struct FixRun {
  std::string validator;
  std::vector<RelPath> changed;  ///< staged in the overlay
  std::vector<RelPath>
      left_out;  ///< it also changed these, but may not: not selected, or not a file
};

/// The requester, the runner of programs and the bounds of a fix.
struct FixRequest {
  CommandRunner& runner;
  const Clock& clock;
  Principals who;
  Deadline deadline;
  std::stop_token stop;
};

/// The fixers' changes to the staged files.
struct FixReport {
  std::vector<FixRun> runs;
  Proposal change;  ///< from the old to the new staged state: the fixers' own change
};

/// Runs every validator with `fix = true`, in order, on the tree that the overlay proposes, and
/// stages each one's changes to the files that it selects. Other files stay as they are.
///
/// Errors: as the runner's; then the overlay is unchanged.
[[nodiscard]] Result<FixReport> fix_staged(const Config& config, Overlay& overlay,
                                           const FixRequest& request);

}  // namespace galley
