#pragma once

#include <string_view>

#include "staging/printing/userdiff.h"

namespace galley {

/// git's built-in driver of this name (gitattributes), compiled at its first use; null when there
/// is none here.
///
/// Threads: may be called from any thread.
[[nodiscard]] const UserDiff* pattern_driver(std::string_view name);

}  // namespace galley
