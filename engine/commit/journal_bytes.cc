#include "engine/commit/journal_bytes.h"

#include <array>
#include <cstring>

namespace galley {

namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr size_t kTableSize = 256;
constexpr unsigned kByteBits = 8;

constexpr std::array<uint32_t, kTableSize> make_table() {
  std::array<uint32_t, kTableSize> table{};
  for (uint32_t i = 0; i < kTableSize; ++i) {
    uint32_t value = i;
    for (unsigned bit = 0; bit < kByteBits; ++bit) {
      value = (value & 1U) != 0 ? value >> 1U ^ kPolynomial : value >> 1U;
    }
    table[i] = value;
  }
  return table;
}

uint32_t update_by_table(std::string_view bytes, uint32_t crc) {
  static constexpr auto kTable = make_table();
  for (const char c : bytes) {
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xffU] ^ crc >> kByteBits;
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t update_by_hardware(std::string_view bytes,
                                                              uint32_t crc) {
  uint64_t wide = crc;
  while (bytes.size() >= sizeof wide) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(sizeof word);
  }
  auto narrow = static_cast<uint32_t>(wide);
  for (const char c : bytes) narrow = __builtin_ia32_crc32qi(narrow, static_cast<uint8_t>(c));
  return narrow;
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_hardware = __builtin_cpu_supports("sse4.2") != 0;
  if (has_hardware) return ~update_by_hardware(bytes, ~seed);
#endif
  return ~update_by_table(bytes, ~seed);
}

}  // namespace galley
