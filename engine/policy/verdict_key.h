#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ed25519_key.h"
#include "base/result.h"

namespace galley {

/// A shared secret of fewer bytes is refused.
inline constexpr size_t kMinVerdictKeyBytes = 16;

/// The key that signs a verdict file: a shared secret (HMAC-SHA256), or an Ed25519 key. The private
/// Ed25519 key signs; the private or the public key verifies.
///
/// Invariant: a PEM text is an Ed25519 key or an error, but never a shared secret. Otherwise the
///            public key could be used to sign.
/// Ownership: a value.
/// Threads:   immutable, safe to share.
class VerdictKey {
 public:
  /// Reads the contents of the file given to --key.
  /// Errors: those of Ed25519Key; kInvalid `verdict.short_key`.
  static Result<VerdictKey> parse(std::string_view text);

  /// Returns a hint for finding the key. It does not prove anything.
  [[nodiscard]] std::string id() const;
  /// Returns the signature of a message.
  /// Errors: those of Ed25519Key.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature) const;

 private:
  VerdictKey() = default;

  std::string secret_;
  std::optional<Ed25519Key> pair_;
};

}  // namespace galley
