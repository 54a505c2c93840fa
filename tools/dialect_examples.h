#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Calls of a tool of a dialect whose definition has none of its own, as JSON text; empty for a
/// name that is not known here.
[[nodiscard]] std::vector<std::string> dialect_examples(std::string_view tool);

}  // namespace galley
