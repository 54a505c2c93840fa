#pragma once

#include <cstdint>
#include <span>

namespace galley {

/// Fills `bytes` from the kernel's random source; the result is fit for secrets. Aborts if the
/// source fails.
void fill_random(std::span<uint8_t> bytes);

}  // namespace galley
