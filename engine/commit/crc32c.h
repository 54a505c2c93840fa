#pragma once

#include <cstdint>
#include <string_view>

namespace galley {

/// CRC-32C (Castagnoli polynomial, RFC 3720 appendix B.4) of `bytes`, continued from `seed`: the
/// seed is the checksum of what came before, so a chain of records vouches for its own order.
[[nodiscard]] uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

}  // namespace galley
