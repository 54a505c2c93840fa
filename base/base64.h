#pragma once

#include <string>
#include <string_view>

namespace galley {

inline constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding (RFC 4648, section 4), and back; false when `text` is none.
[[nodiscard]] std::string base64(std::string_view bytes);
[[nodiscard]] bool from_base64(std::string_view text, std::string& bytes);

}  // namespace galley
