#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// The SHA-256 (FIPS 180-4) of some bytes: the name of a content everywhere in Galley.
class ContentId {
 public:
  static constexpr size_t kBytes = 32;

  /// All zeros: stands for "no content" (an absent file, a directory).
  constexpr ContentId() = default;
  explicit constexpr ContentId(const std::array<uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  /// The id of these bytes.
  [[nodiscard]] static ContentId of(std::string_view content);
  /// Reads 64 lower-case hexadecimal digits.
  [[nodiscard]] static std::optional<ContentId> from_hex(std::string_view hex);

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] bool is_none() const { return *this == ContentId(); }
  [[nodiscard]] const std::array<uint8_t, kBytes>& bytes() const { return bytes_; }

  auto operator<=>(const ContentId&) const = default;
  bool operator==(const ContentId&) const = default;

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

/// Computes a ContentId piece by piece.
///
/// Threads: confined to one thread.
class ContentHasher {
 public:
  ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;

  void update(std::string_view bytes);
  /// The id of all bytes so far; the hasher must not be used afterwards.
  [[nodiscard]] ContentId finish();

 private:
  struct State;
  static constexpr size_t kStateBytes = 128;
  alignas(8) std::array<unsigned char, kStateBytes> storage_;
};

}  // namespace galley

template <>
struct std::hash<galley::ContentId> {
  size_t operator()(const galley::ContentId& id) const noexcept {
    size_t value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value = value << 8U | id.bytes()[i];
    return value;
  }
};
