#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// A change by a fixer that was not staged.
struct LeftOutFix {
  RelPath path;
  std::string change;  ///< for people: what the fixer did, and why that is left out
};

/// The result of one fixer.
struct FixRun {
  std::string validator;
  std::vector<RelPath> changed;  ///< staged in the overlay
  std::vector<LeftOutFix> left_out;
};

/// The principals, the runner and the limits of a fix.
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
  Proposal change;  ///< from the old to the new staged state
};

/// Runs every validator with `fix = true`, in order, on the proposed tree of the overlay. Stages
/// the changes of each one to its selected files. Other files do not change.
///
/// Errors: those of the runner; after one, the overlay is unchanged.
[[nodiscard]] Result<FixReport> fix_staged(const Config& config, Overlay& overlay,
                                           const FixRequest& request);

}  // namespace galley
