#include "staging/sandbox/helper/setup_failure.h"

#include <cerrno>
#include <utility>

namespace galley {

bool failed(SetupFailure& failure, std::string step) {
  if (failure.os_error == 0) {
    failure.os_error = errno;
    failure.step = std::move(step);
  }
  return false;
}

HelperReport report_of(HelperOutcome outcome, const SetupFailure& failure) {
  HelperReport report;
  report.outcome = outcome;
  report.os_error = failure.os_error;
  failure.step.copy(report.step, sizeof report.step - 1);
  return report;
}

}  // namespace galley
