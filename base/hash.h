#pragma once

#include <galley/path.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Computes the ContentId of bytes that arrive in pieces.
///
/// Threads: confined to one thread.
class ContentHasher {
 public:
  ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;

  void update(std::string_view bytes);
  /// Returns the id of all bytes so far. The hasher must not be used afterwards.
  [[nodiscard]] ContentId finish();

 private:
  struct State;
  static constexpr size_t kStateBytes = 128;
  alignas(8) std::array<unsigned char, kStateBytes> storage_;
};

/// The name that git gives a blob: SHA-1 of "blob <size>\0" and the bytes (gitformat-index, SHA-1
/// repositories). It is only for printed diffs and for exchange with git. Galley itself names
/// contents by ContentId.
class GitOid {
 public:
  static constexpr size_t kBytes = 20;
  static constexpr size_t kAbbreviation = 7;  // git's default

  /// All zeros: git's name for "no blob here".
  constexpr GitOid() = default;
  explicit constexpr GitOid(const std::array<uint8_t, kBytes>& bytes) : bytes_(bytes) {}

  /// The name of a blob with this content.
  [[nodiscard]] static GitOid of_blob(std::string_view content);
  /// Reads 40 lower-case hexadecimal digits.
  [[nodiscard]] static std::optional<GitOid> from_hex(std::string_view hex);

  [[nodiscard]] std::string hex() const;
  /// The first seven hexadecimal digits.
  [[nodiscard]] std::string abbreviated() const { return hex().substr(0, kAbbreviation); }
  [[nodiscard]] bool is_none() const { return *this == GitOid(); }
  [[nodiscard]] const std::array<uint8_t, kBytes>& bytes() const { return bytes_; }

  auto operator<=>(const GitOid&) const = default;
  bool operator==(const GitOid&) const = default;

 private:
  std::array<uint8_t, kBytes> bytes_{};
};

/// Returns ContentId::of() of each content, in order.
///
/// If the processor lacks SHA-256 instructions, several contents are hashed at once in the lanes of
/// vector registers. This is three to five times as fast as hashing them one by one. ("Simultaneous
/// hashing of multiple messages", Gueron and Krasnov, 2012.)
[[nodiscard]] std::vector<ContentId> content_ids(const std::vector<std::string_view>& contents);

/// Returns GitOid::of_blob() of each content, in order. It uses the same method.
[[nodiscard]] std::vector<GitOid> blob_names(const std::vector<std::string_view>& contents);

/// HMAC-SHA256 (RFC 2104) of `message`: 32 bytes.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view message);

/// Whether two texts are equal. The time does not depend on where they differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace galley
