#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// An Ed25519 key (RFC 8032), public or private, as `openssl genpkey -algorithm ed25519` and
/// `openssl pkey -pubout` write it (PEM, RFC 7468 and RFC 8410).
///
/// Ownership: shares the key; copies are cheap. Threads: immutable, safe to share.
/// Errors:    kNotFound `key.library_missing` without libcrypto.so.3, which is loaded for the first
///            key; kInvalid `key.syntax`, `key.other_kind`, `key.encrypted`; kUsage `key.public`
///            for sign() with a public key.
class Ed25519Key {
 public:
  static constexpr size_t kSignatureBytes = 64;

  /// Reads the first key of a PEM text. Never asks for a passphrase.
  static Result<Ed25519Key> parse(std::string_view pem);
  /// Returns whether the text contains the start of a PEM block. Such a text is never read in
  /// another format.
  [[nodiscard]] static bool is_pem(std::string_view text);

  [[nodiscard]] bool is_private() const { return is_private_; }
  /// SHA-256 of the 32 bytes of the public key, in hexadecimal digits. It identifies the key pair.
  [[nodiscard]] const std::string& id() const { return id_; }

  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature) const;

 private:
  Ed25519Key() = default;

  std::shared_ptr<void> key_;  ///< OpenSSL's EVP_PKEY
  std::string id_;
  bool is_private_ = false;
};

}  // namespace galley
