#pragma once

#include <cstdint>
#include <span>

namespace galley {

/// Fills `bytes` with random ones of the kernel, fit for what nobody may guess.
void fill_random(std::span<uint8_t> bytes);

}  // namespace galley
