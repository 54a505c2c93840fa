#include "base/ed25519_key.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/content_id.h"

namespace galley {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr size_t kKeyBytes = 32;

EVP_PKEY* openssl_key(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

const uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

/// OpenSSL would ask at the terminal.
int no_passphrase(char* /*to*/, int /*size*/, int /*is_write*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return 0;
}

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

}  // namespace

bool Ed25519Key::is_pem(std::string_view text) { return text.find(kBegin) != text.npos; }

Result<Ed25519Key> Ed25519Key::parse(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  bool is_encrypted = false;
  Ed25519Key key;
  key.is_private_ = pem.find("PRIVATE KEY-----") != pem.npos;
  EVP_PKEY* read = key.is_private_
                       ? PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, &is_encrypted)
                       : PEM_read_bio_PUBKEY(text.get(), nullptr, no_passphrase, &is_encrypted);
  if (is_encrypted) {
    EVP_PKEY_free(read);
    return fail(ErrorKind::kInvalid, "key.encrypted",
                "the key is behind a passphrase; give one that is not: openssl pkey -in KEY");
  }
  if (read == nullptr) {
    return fail(ErrorKind::kInvalid, "key.syntax",
                "this is no PEM file of a key; make one with: openssl genpkey -algorithm ed25519");
  }
  key.key_ =
      std::shared_ptr<void>(read, [](void* one) { EVP_PKEY_free(static_cast<EVP_PKEY*>(one)); });
  std::array<uint8_t, kKeyBytes> raw{};
  size_t size = raw.size();
  if (EVP_PKEY_get_id(read) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(read, raw.data(), &size) != 1 || size != raw.size()) {
    return fail(ErrorKind::kInvalid, "key.other_kind",
                "this key is of another kind; make one with: openssl genpkey -algorithm ed25519");
  }
  key.id_ = ContentId::of({reinterpret_cast<const char*>(raw.data()), raw.size()}).hex();
  return key;
}

Result<std::string> Ed25519Key::sign(std::string_view message) const {
  if (!is_private_) {
    return fail(ErrorKind::kUsage, "key.public",
                "this is a public key, which only verifies; sign with the private one");
  }
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  const bool is_done =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, openssl_key(key_)) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<uint8_t*>(signature.data()), &size,
                     bytes_of(message), message.size()) == 1;
  if (is_done && size == signature.size()) return signature;
  return fail(ErrorKind::kInternal, "key.failed", "OpenSSL could not sign with this key");
}

bool Ed25519Key::verify(std::string_view message, std::string_view signature) const {
  const Context context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, openssl_key(key_)) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                          message.size()) == 1;
}

}  // namespace galley
