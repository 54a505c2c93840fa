#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/policy/gate.h"
#include "engine/policy/validator.h"

namespace galley {

/// The result of one validator.
struct ValidatorOutcome {
  ValidatorRun run;
  std::vector<Finding> findings;
};

/// Runs validators side by side, at most `parallel` at once, and waits for all of them.
///
/// Threads: progress is reported on the calling thread. When the deadline passes or the request is
///          stopped, every running validator is asked to stop, and the call waits until it has
///          stopped. A stopped validator counts as unavailable.
[[nodiscard]] std::vector<ValidatorOutcome> run_in_parallel(
    const std::vector<Validator*>& validators, const ProposedTree& tree, const GateRequest& request,
    const Clock& clock, size_t parallel);

}  // namespace galley
