#include "base/random.h"

#include <unistd.h>

#include <algorithm>

#include "base/result.h"

namespace galley {

void fill_random(std::span<uint8_t> bytes) {
  constexpr size_t kMostAtOnce = 256;  // of getentropy(3)
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostAtOnce));
    GALLEY_CHECK(getentropy(part.data(), part.size()) == 0);
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace galley
