#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

/// The paths of libfaketime on Debian, Fedora and Arch, for this machine and others.
[[nodiscard]] std::vector<std::string> fixed_time_places();

/// Returns the path of the library that gives programs a fixed time; empty if it is not installed.
/// Every call searches again, because it may be installed while this program runs.
[[nodiscard]] std::string fixed_time_library(
    const std::vector<std::string>& places = fixed_time_places());

/// Whether a deterministic command gets a fixed clock: `library` is installed and its `program`
/// loads it. A script does, if its interpreter does.
/// Errors: kRefused `sandbox.no_fixed_clock`.
Result<void> check_fixed_clock(const std::string& library, const std::string& program);

/// The environment of a deterministic command: zone, locale, SOURCE_DATE_EPOCH, and the fixed time
/// of `library` (libfaketime's README has the names).
[[nodiscard]] std::map<std::string, std::string> deterministic_environment(
    const std::string& library);

/// Returns notes for the reader of a result: which clock the programs saw, and which values remain
/// random.
[[nodiscard]] std::vector<std::string> determinism_notes(const std::string& library);

}  // namespace galley
