#include "staging/printing/git_diff_binary.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace galley {

namespace {

// Format: "literal <size>\n", then lines of up to 52 bytes: a letter for the count (A-Z for 1-26,
// a-z for 27-52) and five characters for each four bytes, big-endian; an empty line ends it.
constexpr size_t kBytesPerLine = 52;
constexpr size_t kLettersPerCase = 26;
constexpr std::string_view kBase85 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

std::string deflated(std::string_view content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(content.data()), content.size(),
                             Z_DEFAULT_COMPRESSION);
  GALLEY_CHECK(code == Z_OK);  // the buffer has the size that zlib asked for
  out.resize(size);
  return out;
}

void append_base85_line(std::string_view bytes, std::string& out) {
  const size_t count = bytes.size();
  out.push_back(static_cast<char>(count <= kLettersPerCase ? 'A' + count - 1
                                                           : 'a' + count - kLettersPerCase - 1));
  for (size_t i = 0; i < count; i += 4) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 4; ++j) {
      group = group << 8U | (j < count ? static_cast<uint8_t>(bytes[j]) : 0U);
    }
    char digits[5];
    for (int k = 4; k >= 0; --k) {
      digits[k] = kBase85[group % kBase85.size()];
      group /= kBase85.size();
    }
    out.append(digits, sizeof digits);
  }
  out.push_back('\n');
}

void append_literal(std::string_view content, std::string& out) {
  out += "literal " + std::to_string(content.size()) + "\n";
  const std::string bytes = deflated(content);
  for (size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    append_base85_line(std::string_view(bytes).substr(at, kBytesPerLine), out);
  }
  out.push_back('\n');
}

}  // namespace

void append_binary_patch(std::string_view before, std::string_view after, std::string& out) {
  out += "GIT binary patch\n";
  append_literal(after, out);
  append_literal(before, out);
}

}  // namespace galley
