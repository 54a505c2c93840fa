#pragma once

#include <string>

#include "staging/sandbox/helper/request.h"

namespace galley {

/// The first step of the set-up that failed, and why.
struct SetupFailure {
  std::string step;
  int os_error = 0;
};

/// Notes errno under this step unless an earlier failure is noted. Returns false.
[[nodiscard]] bool failed(SetupFailure& failure, std::string step);

/// Returns a report that tells of `failure`.
[[nodiscard]] HelperReport report_of(HelperOutcome outcome, const SetupFailure& failure);

}  // namespace galley
