#pragma once

#include <string_view>

#include "tests/architecture/rules.h"

namespace galley::architecture {

/// Returns names that could write to a disk in a room that only proposes or judges. Also returns
/// uses of the writing doors outside the rooms that own them.
[[nodiscard]] Violations write_access(std::string_view path, std::string_view source);

}  // namespace galley::architecture
