#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace galley {

/// Length of the well-formed UTF-8 sequence (RFC 3629: no overlong forms, no surrogates, nothing
/// above U+10FFFF) that begins at `at`, or 0 when there is none.
[[nodiscard]] size_t utf8_sequence_length(std::string_view bytes, size_t at);

/// Offset of the first byte that is not part of well-formed UTF-8, if there is one.
[[nodiscard]] std::optional<size_t> first_invalid_utf8(std::string_view bytes);

/// Whether the bytes are UTF-8.
[[nodiscard]] inline bool is_utf8(std::string_view bytes) { return !first_invalid_utf8(bytes); }

}  // namespace galley
