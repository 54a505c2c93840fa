#pragma once

#include <galley/verdict.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace galley {

/// The maximum size of a message or rule name from a file or a program; longer ones are cut.
inline constexpr size_t kMaxFindingBytes = 1000;
/// The maximum size of a command's output in a finding: its beginning and its end are kept.
inline constexpr size_t kMaxFindingOutputBytes = size_t{8} << 10U;

/// The rule of a finding which says that not all findings are known. Nothing suppresses it: what
/// is not known may refuse.
inline constexpr std::string_view kTooManyFindings = "gate.too_many_findings";

using Severity = Finding::Severity;

/// "note", "warning" or "error".
[[nodiscard]] constexpr std::string_view severity_name(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames = {"note", "warning", "error"};
  return kNames.at(static_cast<size_t>(severity));
}

}  // namespace galley
