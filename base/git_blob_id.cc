#include "base/git_blob_id.h"

// The low-level functions for the reason given in content_id.cc.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <array>

namespace galley {

std::string git_blob_id(std::string_view content) {
  const std::string header = "blob " + std::to_string(content.size());
  SHA_CTX context;
  SHA1_Init(&context);
  SHA1_Update(&context, header.c_str(), header.size() + 1);
  SHA1_Update(&context, content.data(), content.size());
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1_Final(digest.data(), &context);
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 0xfU]);
  }
  return out;
}

}  // namespace galley
