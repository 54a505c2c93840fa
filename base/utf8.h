#pragma once

#include <string_view>

namespace galley {

/// Whether the bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above
/// U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view bytes);

}  // namespace galley
