#pragma once

#include <string_view>

namespace galley {

/// Whether a name fits a pattern in which `*` stands for any run of characters and `?` for one.
/// Takes at most the product of their lengths.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

}  // namespace galley
