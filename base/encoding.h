#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace galley {

/// Hexadecimal digits. Galley always writes them in lower case.
inline constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_hex(std::string& out, uint8_t byte);
[[nodiscard]] std::string to_hex(std::span<const uint8_t> bytes);
/// Returns `digits` random hexadecimal digits from the system's random source.
[[nodiscard]] std::string random_hex(size_t digits);

inline constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` as base64 with padding (RFC 4648, section 4).
[[nodiscard]] std::string base64(std::string_view bytes);
/// Decodes base64. Padding may be missing, but not wrong. Returns false for any other text.
[[nodiscard]] bool from_base64(std::string_view text, std::string& bytes);

/// Fills `bytes` from the kernel's random source; the result is fit for secrets. Aborts if the
/// source fails.
void fill_random(std::span<uint8_t> bytes);

}  // namespace galley
