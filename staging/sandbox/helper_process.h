#pragma once

#include <string>

#include "base/result.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/helper/request.h"

namespace galley {

/// What came back from one run of the helper.
struct HelperRun {
  HelperReport report;
  CapturedOutput standard_output;
  CapturedOutput standard_error;
};

/// Starts the helper program for one request and stays with it until every process of the command
/// is dead, passing on output and a stop request.
///
/// Threads: may be called from any thread; uses no signal handlers.
/// Errors:  kRefused `sandbox.unavailable` when the helper cannot be started; kInternal
///          `sandbox.helper_died` when it ends without a report.
[[nodiscard]] Result<HelperRun> run_helper(const std::string& helper, const SandboxRequest& request,
                                           const Command& command);

}  // namespace galley
