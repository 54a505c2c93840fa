#pragma once

#include <string>
#include <string_view>

namespace galley {

/// HMAC-SHA256 (RFC 2104) of `message`: 32 bytes.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view message);

/// Whether two texts are equal. The time does not depend on where they differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace galley
