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

/// Runs validators in parallel, at most `parallel` at once, and waits for all of them. If the
/// deadline passes or the request is stopped, it asks all running validators to stop and waits for
/// them. A stopped validator counts as unavailable.
///
/// Threads: progress is reported on the calling thread.
[[nodiscard]] std::vector<ValidatorOutcome> run_in_parallel(
    const std::vector<Validator*>& validators, const ProposedTree& tree, const GateRequest& request,
    const Clock& clock, size_t parallel);

}  // namespace galley
