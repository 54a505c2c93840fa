#pragma once

#include <string_view>

#include "tests/architecture/rules.h"

namespace galley::architecture {

/// Names by which a source could write to a disk in a room that only proposes or judges, and
/// doors to the writing side outside the rooms that own them.
[[nodiscard]] Violations write_access(std::string_view path, std::string_view source);

}  // namespace galley::architecture
