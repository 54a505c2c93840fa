#include "base/git_oid.h"
#include "base/encoding.h"

// The low-level functions, for the reason given in content_id.cc.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace galley {

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

std::optional<GitOid> GitOid::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kBytes) return std::nullopt;
  std::array<uint8_t, kBytes> bytes{};
  for (size_t i = 0; i < hex.size(); ++i) {
    const size_t digit = kHexDigits.find(hex[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    bytes.at(i / 2) = static_cast<uint8_t>(bytes.at(i / 2) << 4U | digit);
  }
  return GitOid(bytes);
}

std::string GitOid::hex() const { return to_hex(bytes_); }

}  // namespace galley
