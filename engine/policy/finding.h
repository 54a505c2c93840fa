#pragma once

#include <galley/verdict.h>

#include <cstddef>

namespace galley {

/// A message or rule name that came from a file or a program is cut here.
inline constexpr size_t kMaxFindingBytes = 1000;
/// Of a command's output that is kept with a finding: its beginning and its end.
inline constexpr size_t kMaxFindingOutputBytes = size_t{8} << 10U;

using Severity = Finding::Severity;

}  // namespace galley
