#pragma once

#include <map>
#include <string>
#include <vector>

namespace galley {

/// The paths of libfaketime on Debian, Fedora and Arch, for this machine and others.
[[nodiscard]] std::vector<std::string> fixed_time_places();

/// The library that gives programs a fixed time, or empty if it is not installed. It is searched
/// for at every call: it may be installed while a program runs.
[[nodiscard]] std::string fixed_time_library(
    const std::vector<std::string>& places = fixed_time_places());

/// The environment of a deterministic command: zone, locale, SOURCE_DATE_EPOCH, and a fixed time if
/// `library` is not empty (libfaketime's README has the names).
[[nodiscard]] std::map<std::string, std::string> deterministic_environment(
    const std::string& library);

/// For the reader of a result: which clock the programs saw, and what stays random.
[[nodiscard]] std::vector<std::string> determinism_notes(const std::string& library);

}  // namespace galley
