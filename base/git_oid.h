#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

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

}  // namespace galley
