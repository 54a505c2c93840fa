#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// Offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), if there is one.
[[nodiscard]] std::optional<size_t> first_invalid_utf8(std::string_view text);

/// Text that is safe to show: control characters and bytes that are no UTF-8 become U+FFFD, and it
/// is cut at `max_bytes`.
[[nodiscard]] std::string printable(std::string_view text, size_t max_bytes = 1000);

}  // namespace galley
