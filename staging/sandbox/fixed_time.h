#pragma once

#include <map>
#include <string>
#include <vector>

namespace galley {

/// Where Debian, Fedora and Arch put libfaketime, for this machine and others.
[[nodiscard]] std::vector<std::string> fixed_time_places();

/// The library that shows programs a clock that stands still, or empty where it is not installed.
/// It is looked for at every call: it can be installed while a program runs.
[[nodiscard]] std::string fixed_time_library(
    const std::vector<std::string>& places = fixed_time_places());

/// What a deterministic command gets in its environment: zone, locale, SOURCE_DATE_EPOCH, and a
/// clock that stands still where `library` is not empty (libfaketime's README has the names).
[[nodiscard]] std::map<std::string, std::string> deterministic_environment(
    const std::string& library);

/// For who reads a result: which clock its programs saw, and what stays random.
[[nodiscard]] std::vector<std::string> determinism_notes(const std::string& library);

}  // namespace galley
