#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Text that is safe to show: control characters and bytes that are no UTF-8 become U+FFFD, and it
/// is cut at `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, size_t max_bytes = 1000);

}  // namespace galley
