#include "staging/overlay/node_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/file_mode.h"

namespace galley {
namespace {

constexpr size_t kNodeFields = 4;
constexpr int kOctal = 8;
constexpr int kDecimal = 10;

template <class Number>
void append_number(std::string& out, Number number, int radix) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number, radix);
  out.append(digits.data(), result.ptr).push_back(' ');
}

}  // namespace

void append_node(std::string& out, const Node& node) {
  append_number(out, static_cast<int>(node.kind), kDecimal);
  append_number(out, node.mode, kOctal);
  append_number(out, node.size, kDecimal);
  out += node.content.hex();
}

bool read_node(std::string_view text, Node& node) {
  const auto parts = split_fields(text, ' ');
  int kind = 0;
  if (parts.size() != kNodeFields || !read_number(parts[0], kind, kDecimal) ||
      !read_number(parts[1], node.mode, kOctal) || !read_number(parts[2], node.size, kDecimal)) {
    return false;
  }
  if (kind < 0 || kind >= static_cast<int>(FileKind::kOther) || node.mode > kPermissionBits) {
    return false;
  }
  node.kind = static_cast<FileKind>(kind);
  const auto content = ContentId::from_hex(parts[3]);
  if (content) node.content = *content;
  return content.has_value();
}

std::vector<std::string_view> split_fields(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace galley
