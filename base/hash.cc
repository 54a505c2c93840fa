#include "base/hash.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "base/encoding.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// This file uses the low-level SHA256_* and SHA1_* functions, which OpenSSL 3 deprecates, instead
// of EVP. At its first use EVP loads providers and reads openssl.cnf, which takes longer than the
// whole start of Galley.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace galley {
namespace {

/// Reads exactly the lower-case hexadecimal digits of one id.
template <class Id>
std::optional<Id> id_of_hex(std::string_view hex) {
  if (hex.size() != 2 * Id::kBytes) return std::nullopt;
  std::array<uint8_t, Id::kBytes> bytes{};
  for (size_t i = 0; i < hex.size(); ++i) {
    const size_t digit = kHexDigits.find(hex[i]);
    if (digit == kHexDigits.npos) return std::nullopt;
    bytes.at(i / 2) = static_cast<uint8_t>(bytes.at(i / 2) << 4U | digit);
  }
  return Id(bytes);
}

}  // namespace

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
  return id_of_hex<ContentId>(hex);
}

GitOid GitOid::of_blob(std::string_view content) {
  const std::string header = "blob " + std::to_string(content.size());
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, header.c_str(), header.size() + 1);  // with its NUL
  SHA1_Update(&context, content.data(), content.size());
  std::array<uint8_t, kBytes> digest{};
  SHA1_Final(digest.data(), &context);
  return GitOid(digest);
}

std::optional<GitOid> GitOid::from_hex(std::string_view hex) { return id_of_hex<GitOid>(hex); }

std::string GitOid::hex() const { return to_hex(bytes_); }

#if defined(__x86_64__)
// Every function that returns a vector is inlined, so no call passes one.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kLengthBytes = 8;
constexpr size_t kWords = 16;

#define GALLEY_INLINE inline __attribute__((always_inline))

template <size_t kLanes>
using VectorOf __attribute__((vector_size(kLanes * sizeof(uint32_t)))) = uint32_t;

template <class Vector>
GALLEY_INLINE Vector left(const Vector& x, unsigned n) {
  return x << n | x >> (32U - n);
}

/// FIPS 180-4, section 6.1.
struct Sha1 {
  static constexpr size_t kState = 5;
  static constexpr std::array<uint32_t, kState> kInitial = {0x67452301, 0xefcdab89, 0x98badcfe,
                                                            0x10325476, 0xc3d2e1f0};
  template <class Vector>
  static GALLEY_INLINE void compress(Vector* state, Vector* w) {
    Vector a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    const auto round = [&](const Vector& f, uint32_t k, unsigned i) __attribute__((always_inline)) {
      const unsigned at = i % kWords;
      if (i >= kWords) {
        w[at] = left(w[(i + 13) % kWords] ^ w[(i + 8) % kWords] ^ w[(i + 2) % kWords] ^ w[at], 1);
      }
      const Vector next = left(a, 5) + f + e + k + w[at];
      e = d, d = c, c = left(b, 30), b = a, a = next;
    };
    for (unsigned i = 0; i < 20; ++i) round(d ^ (b & (c ^ d)), 0x5a827999, i);
    for (unsigned i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, i);
    for (unsigned i = 40; i < 60; ++i) round((b & c) | (d & (b | c)), 0x8f1bbcdc, i);
    for (unsigned i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, i);
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
  }
};

/// FIPS 180-4, section 6.2.
struct Sha256 {
  static constexpr size_t kState = 8;
  static constexpr std::array<uint32_t, kState> kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                                            0xa54ff53a, 0x510e527f, 0x9b05688c,
                                                            0x1f83d9ab, 0x5be0cd19};
  static constexpr std::array<uint32_t, 64> kRound = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  template <class Vector>
  static GALLEY_INLINE void compress(Vector* state, Vector* w) {
    Vector a = state[0], b = state[1], c = state[2], d = state[3];
    Vector e = state[4], f = state[5], g = state[6], h = state[7];
    for (unsigned i = 0; i < kRound.size(); ++i) {
      const unsigned at = i % kWords;
      if (i >= kWords) {
        const Vector x = w[(i + 1) % kWords];
        const Vector y = w[(i + 14) % kWords];
        w[at] += (left(x, 25) ^ left(x, 14) ^ x >> 3U) + w[(i + 9) % kWords] +
                 (left(y, 15) ^ left(y, 13) ^ y >> 10U);
      }
      const Vector one =
          h + (left(e, 26) ^ left(e, 21) ^ left(e, 7)) + (g ^ (e & (f ^ g))) + kRound[i] + w[at];
      const Vector two = (left(a, 30) ^ left(a, 19) ^ left(a, 10)) + ((a & b) | (c & (a | b)));
      h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
};

/// One message in a lane: a first block if there is a prefix, the full blocks of the content, and
/// the padded rest.
struct Lane {
  std::array<unsigned char, kBlockBytes> head;
  std::array<unsigned char, 2 * kBlockBytes> tail;
  const unsigned char* at = nullptr;
  size_t blocks = 0;  ///< of this segment
  const unsigned char* body = nullptr;
  size_t body_blocks = 0;
  size_t tail_blocks = 0;
  size_t item = 0;
  bool is_busy = false;

  void begin(size_t number, std::string_view prefix, std::string_view content) {
    const uint64_t bits = uint64_t{prefix.size() + content.size()} * 8;
    item = number;
    is_busy = true;
    blocks = 0;
    if (!prefix.empty() && prefix.size() + content.size() >= kBlockBytes) {
      const size_t taken = kBlockBytes - prefix.size();
      std::memcpy(head.data(), prefix.data(), prefix.size());
      std::memcpy(head.data() + prefix.size(), content.data(), taken);
      content.remove_prefix(taken);
      prefix = {};
      at = head.data();
      blocks = 1;
    }
    body = reinterpret_cast<const unsigned char*>(content.data());
    body_blocks = prefix.empty() ? content.size() / kBlockBytes : 0;
    content.remove_prefix(body_blocks * kBlockBytes);
    const size_t rest = prefix.size() + content.size();
    tail.fill(0);
    std::copy(prefix.begin(), prefix.end(), tail.begin());
    std::copy(content.begin(), content.end(), tail.begin() + static_cast<ptrdiff_t>(prefix.size()));
    tail[rest] = 0x80;
    tail_blocks = rest + 1 + kLengthBytes <= kBlockBytes ? 1 : 2;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      tail[tail_blocks * kBlockBytes - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    }
    next_segment();
  }

  /// False at the end of the message.
  bool next_segment() {
    if (blocks == 0 && body_blocks > 0) {
      at = body;
      blocks = std::exchange(body_blocks, 0);
    } else if (blocks == 0 && tail_blocks > 0) {
      at = tail.data();
      blocks = std::exchange(tail_blocks, 0);
    }
    return blocks > 0;
  }
};

GALLEY_INLINE uint32_t big_endian(const unsigned char* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return __builtin_bswap32(word);
}

struct Message {
  std::string prefix;
  std::string_view content;
};

/// Hashes the messages of `order`, and passes the digests to `take(item, words)`.
template <class Hash, size_t kLanes, class Take>
GALLEY_INLINE void hash_in_lanes(const std::vector<Message>& messages,
                                 const std::vector<size_t>& order, const Take& take) {
  using Vector = VectorOf<kLanes>;
  static constexpr std::array<unsigned char, kBlockBytes> kIdle{};
  std::array<Lane, kLanes> lanes;
  Vector state[Hash::kState] = {};
  size_t next = 0;
  const auto refill = [&](size_t lane) {
    if (next == order.size()) return;
    const Message& message = messages[order[next]];
    lanes[lane].begin(order[next++], message.prefix, message.content);
    for (size_t i = 0; i < Hash::kState; ++i) state[i][lane] = Hash::kInitial[i];
  };
  for (size_t lane = 0; lane < kLanes; ++lane) refill(lane);
  for (;;) {
    size_t blocks = SIZE_MAX;
    for (const Lane& lane : lanes) {
      if (lane.is_busy) blocks = std::min(blocks, lane.blocks);
    }
    if (blocks == SIZE_MAX) return;
    for (size_t n = 0; n < blocks; ++n) {
      Vector words[kWords];
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const bool is_busy = lanes[lane].is_busy;
        const unsigned char* at = is_busy ? lanes[lane].at + n * kBlockBytes : kIdle.data();
        for (size_t i = 0; i < kWords; ++i) words[i][lane] = big_endian(at + i * sizeof(uint32_t));
      }
      Hash::compress(state, words);
    }
    for (size_t lane = 0; lane < kLanes; ++lane) {
      Lane& here = lanes[lane];
      if (!here.is_busy) continue;
      here.at += blocks * kBlockBytes;
      here.blocks -= blocks;
      if (here.blocks > 0 || here.next_segment()) continue;
      std::array<uint32_t, Hash::kState> digest;
      for (size_t i = 0; i < Hash::kState; ++i) digest[i] = state[i][lane];
      take(here.item, digest);
      here.is_busy = false;
      refill(lane);
    }
  }
}

template <class Hash, class Take>
__attribute__((target("avx2"))) void hash_by_eight(const std::vector<Message>& messages,
                                                   const std::vector<size_t>& order,
                                                   const Take& take) {
  hash_in_lanes<Hash, 8>(messages, order, take);
}

template <class Hash, class Take>
__attribute__((target("avx512f"))) void hash_by_sixteen(const std::vector<Message>& messages,
                                                        const std::vector<size_t>& order,
                                                        const Take& take) {
  hash_in_lanes<Hash, 16>(messages, order, take);
}

/// The number of lanes to use; 0 if hashing one by one is faster, because the processor has SHA
/// instructions or no wide registers.
size_t lanes_of_processor() {
  constexpr unsigned kShaExtensions = 1U << 29U;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kShaExtensions) != 0) return 0;
  if (__builtin_cpu_supports("avx512f") != 0) return 16;
  return __builtin_cpu_supports("avx2") != 0 ? 8 : 0;
}

/// Hashes items in lanes where this is faster. Returns the items to hash one by one.
template <class Hash, class Prefix, class Take>
std::vector<size_t> hash_together(const std::vector<std::string_view>& contents,
                                  const Prefix& prefix, const Take& take) {
  static const size_t kLanes = lanes_of_processor();
  std::vector<size_t> order(contents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (kLanes == 0) return order;
  // The longest first, so that the lanes end together. A message longer than an equal share would
  // delay the other lanes.
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return contents[a].size() > contents[b].size(); });
  size_t left = 0;
  for (const std::string_view content : contents) left += content.size() + kBlockBytes;
  size_t first = 0;
  for (; first < order.size(); ++first) {
    const size_t size = contents[order[first]].size() + kBlockBytes;
    if (size <= left / kLanes) break;
    left -= size;
  }
  const auto shared = order.begin() + static_cast<ptrdiff_t>(first);
  std::vector<size_t> alone(order.begin(), shared);
  order.erase(order.begin(), shared);
  if (order.empty()) return alone;
  std::vector<Message> messages(contents.size());
  for (const size_t i : order) messages[i] = {prefix(contents[i]), contents[i]};
  if (kLanes == 16) {
    hash_by_sixteen<Hash>(messages, order, take);
  } else {
    hash_by_eight<Hash>(messages, order, take);
  }
  return alone;
}

template <class Id, size_t kState>
Id id_of(const std::array<uint32_t, kState>& words) {
  std::array<uint8_t, Id::kBytes> bytes{};
  static_assert(Id::kBytes == kState * sizeof(uint32_t));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  }
  return Id(bytes);
}

}  // namespace

std::vector<ContentId> content_ids(const std::vector<std::string_view>& contents) {
  std::vector<ContentId> ids(contents.size());
  const auto alone = hash_together<Sha256>(
      contents, [](std::string_view) { return std::string(); },
      [&](size_t i, const auto& words) { ids[i] = id_of<ContentId>(words); });
  for (const size_t i : alone) ids[i] = ContentId::of(contents[i]);
  return ids;
}

std::vector<GitOid> blob_names(const std::vector<std::string_view>& contents) {
  std::vector<GitOid> names(contents.size());
  const auto prefix = [](std::string_view content) {
    std::string text = "blob " + std::to_string(content.size());
    text.push_back('\0');
    return text;
  };
  const auto alone = hash_together<Sha1>(
      contents, prefix, [&](size_t i, const auto& words) { names[i] = id_of<GitOid>(words); });
  for (const size_t i : alone) names[i] = GitOid::of_blob(contents[i]);
  return names;
}

#else

std::vector<ContentId> content_ids(const std::vector<std::string_view>& contents) {
  std::vector<ContentId> ids;
  for (const std::string_view content : contents) ids.push_back(ContentId::of(content));
  return ids;
}

std::vector<GitOid> blob_names(const std::vector<std::string_view>& contents) {
  std::vector<GitOid> names;
  for (const std::string_view content : contents) names.push_back(GitOid::of_blob(content));
  return names;
}

#endif

namespace {

constexpr size_t kHashBlockBytes = 64;  // of SHA-256

std::string bytes_of_id(const ContentId& id) {
  return {reinterpret_cast<const char*>(id.bytes().data()), id.bytes().size()};
}

std::string padded(std::string_view key, uint8_t pad) {
  std::string block(kHashBlockBytes, '\0');
  key.copy(block.data(), block.size());
  for (char& c : block) c = static_cast<char>(static_cast<uint8_t>(c) ^ pad);
  return block;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view message) {
  constexpr uint8_t kInner = 0x36;
  constexpr uint8_t kOuter = 0x5c;
  std::string hashed;
  if (key.size() > kHashBlockBytes) {
    hashed = bytes_of_id(ContentId::of(key));
    key = hashed;
  }
  const std::string inner = padded(key, kInner) + std::string(message);
  return bytes_of_id(ContentId::of(padded(key, kOuter) + bytes_of_id(ContentId::of(inner))));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]));
  }
  return difference == 0;
}

}  // namespace galley
