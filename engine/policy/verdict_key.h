#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ed25519_key.h"
#include "base/result.h"

namespace galley {

/// A shared secret of fewer bytes is refused.
inline constexpr size_t kMinVerdictKeyBytes = 16;

/// By what a verdict file is signed: a shared secret (HMAC-SHA256), or a pair of keys (Ed25519), of
/// which the private one signs and either verifies.
///
/// Invariant: a PEM text is a key of Ed25519 or an error, and never a secret: else whoever has the
///            public key could sign with it.
/// Ownership: a value. Threads: immutable, safe to share.
class VerdictKey {
 public:
  /// Reads what a file of --key holds.
  /// Errors: those of Ed25519Key; kInvalid `verdict.short_key`.
  static Result<VerdictKey> parse(std::string_view text);

  /// A hint for whoever looks for the key; it proves nothing.
  [[nodiscard]] std::string id() const;
  /// Errors: those of Ed25519Key.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature) const;

 private:
  VerdictKey() = default;

  std::string secret_;
  std::optional<Ed25519Key> pair_;
};

}  // namespace galley
