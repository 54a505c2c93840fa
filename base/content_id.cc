#include "base/content_id.h"
#include "base/encoding.h"

// This file uses the low-level SHA256_* functions instead of EVP. At its first use EVP loads
// providers and reads openssl.cnf, which takes longer than the whole start of Galley.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <new>

namespace galley {

struct ContentHasher::State {
  SHA256_CTX context;
};

ContentHasher::ContentHasher() : storage_() {
  static_assert(sizeof(State) <= kStateBytes);
  SHA256_Init(&(new (storage_.data()) State)->context);
}

void ContentHasher::update(std::string_view bytes) {
  auto* state = std::launder(reinterpret_cast<State*>(storage_.data()));
  SHA256_Update(&state->context, bytes.data(), bytes.size());
}

ContentId ContentHasher::finish() {
  auto* state = std::launder(reinterpret_cast<State*>(storage_.data()));
  std::array<uint8_t, ContentId::kBytes> digest{};
  SHA256_Final(digest.data(), &state->context);
  return ContentId(digest);
}

ContentId ContentId::of(std::string_view content) {
  ContentHasher hasher;
  hasher.update(content);
  return hasher.finish();
}

std::string ContentId::hex() const { return to_hex(bytes_); }

std::optional<ContentId> ContentId::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kBytes) return std::nullopt;
  std::array<uint8_t, kBytes> bytes{};
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (digit < 0) return std::nullopt;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4U | static_cast<unsigned>(digit));
  }
  return ContentId(bytes);
}

}  // namespace galley
