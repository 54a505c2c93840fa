#pragma once

#include <string_view>

namespace galley {

/// True for `...`, or for a comment which says that lines were left out.
[[nodiscard]] bool is_elision(std::string_view line);

}  // namespace galley
