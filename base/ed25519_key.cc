#include "base/ed25519_key.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <cstdint>

#include "base/hash.h"

namespace galley {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr const char* kLibrary = "libcrypto.so.3";
constexpr size_t kKeyBytes = 32;

// The OpenSSL functions in use. They are loaded when a key is read. Linked in, they would slow down
// every start of the program and make it a quarter larger.
struct OpenSsl {
  decltype(&BIO_new_mem_buf) bio_new_mem_buf = nullptr;
  decltype(&BIO_free) bio_free = nullptr;
  decltype(&PEM_read_bio_PrivateKey) read_private = nullptr;
  decltype(&PEM_read_bio_PUBKEY) read_public = nullptr;
  decltype(&EVP_PKEY_free) key_free = nullptr;
  decltype(&EVP_PKEY_get_id) key_kind = nullptr;
  decltype(&EVP_PKEY_get_raw_public_key) raw_public_key = nullptr;
  decltype(&EVP_MD_CTX_new) context_new = nullptr;
  decltype(&EVP_MD_CTX_free) context_free = nullptr;
  decltype(&EVP_DigestSignInit) sign_init = nullptr;
  decltype(&EVP_DigestSign) sign = nullptr;
  decltype(&EVP_DigestVerifyInit) verify_init = nullptr;
  decltype(&EVP_DigestVerify) verify = nullptr;
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// Returns null when the library cannot be loaded. It is never unloaded, because it cleans up when
/// threads end.
const OpenSsl* load_openssl() {
  static const OpenSsl* const loaded = []() -> const OpenSsl* {
    static OpenSsl ssl;
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    const bool is_whole = library != nullptr &&
                          look_up(library, "BIO_new_mem_buf", ssl.bio_new_mem_buf) &&
                          look_up(library, "BIO_free", ssl.bio_free) &&
                          look_up(library, "PEM_read_bio_PrivateKey", ssl.read_private) &&
                          look_up(library, "PEM_read_bio_PUBKEY", ssl.read_public) &&
                          look_up(library, "EVP_PKEY_free", ssl.key_free) &&
                          look_up(library, "EVP_PKEY_get_id", ssl.key_kind) &&
                          look_up(library, "EVP_PKEY_get_raw_public_key", ssl.raw_public_key) &&
                          look_up(library, "EVP_MD_CTX_new", ssl.context_new) &&
                          look_up(library, "EVP_MD_CTX_free", ssl.context_free) &&
                          look_up(library, "EVP_DigestSignInit", ssl.sign_init) &&
                          look_up(library, "EVP_DigestSign", ssl.sign) &&
                          look_up(library, "EVP_DigestVerifyInit", ssl.verify_init) &&
                          look_up(library, "EVP_DigestVerify", ssl.verify);
    return is_whole ? &ssl : nullptr;
  }();
  return loaded;
}

/// Only for code that already has a key: the library is then loaded.
const OpenSsl& openssl() { return *load_openssl(); }

EVP_PKEY* openssl_key(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

const uint8_t* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const uint8_t*>(text.data());
}

/// Without this, OpenSSL would ask at the terminal.
int no_passphrase(char* /*to*/, int /*size*/, int /*is_write*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return 0;
}

using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

}  // namespace

bool Ed25519Key::is_pem(std::string_view text) { return text.find(kBegin) != text.npos; }

Result<Ed25519Key> Ed25519Key::parse(std::string_view pem) {
  const OpenSsl* ssl = load_openssl();
  if (ssl == nullptr) {
    return fail(ErrorKind::kNotFound, "key.library_missing",
                std::string("keys of Ed25519 need OpenSSL, and ") + kLibrary +
                    " could not be loaded; install the package libssl3");
  }
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      ssl->bio_new_mem_buf(pem.data(), static_cast<int>(pem.size())), ssl->bio_free);
  bool is_encrypted = false;
  Ed25519Key key;
  key.is_private_ = pem.find("PRIVATE KEY-----") != pem.npos;
  const auto read = key.is_private_ ? ssl->read_private : ssl->read_public;
  key.key_ =
      std::shared_ptr<void>(read(text.get(), nullptr, no_passphrase, &is_encrypted),
                            [ssl](void* one) { ssl->key_free(static_cast<EVP_PKEY*>(one)); });
  if (is_encrypted) {
    return fail(ErrorKind::kInvalid, "key.encrypted",
                "the key has a passphrase; write one without it: openssl pkey -in KEY -out NEW");
  }
  if (key.key_ == nullptr) {
    return fail(
        ErrorKind::kInvalid, "key.syntax",
        "this is not a PEM file of a key; make one with: openssl genpkey -algorithm ed25519");
  }
  std::array<uint8_t, kKeyBytes> raw{};
  size_t size = raw.size();
  if (ssl->key_kind(openssl_key(key.key_)) != EVP_PKEY_ED25519 ||
      ssl->raw_public_key(openssl_key(key.key_), raw.data(), &size) != 1 || size != raw.size()) {
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
  const OpenSsl& ssl = openssl();
  const Context context(ssl.context_new(), ssl.context_free);
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  const bool is_done =
      ssl.sign_init(context.get(), nullptr, nullptr, nullptr, openssl_key(key_)) == 1 &&
      ssl.sign(context.get(), reinterpret_cast<uint8_t*>(signature.data()), &size,
               unsigned_bytes(message), message.size()) == 1;
  if (is_done && size == signature.size()) return signature;
  return fail(ErrorKind::kInternal, "key.failed", "OpenSSL could not sign with this key");
}

bool Ed25519Key::verify(std::string_view message, std::string_view signature) const {
  const OpenSsl& ssl = openssl();
  const Context context(ssl.context_new(), ssl.context_free);
  return ssl.verify_init(context.get(), nullptr, nullptr, nullptr, openssl_key(key_)) == 1 &&
         ssl.verify(context.get(), unsigned_bytes(signature), signature.size(),
                    unsigned_bytes(message), message.size()) == 1;
}

}  // namespace galley
