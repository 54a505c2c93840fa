#include "staging/overlay/node_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/encoding.h"
#include "base/file_mode.h"

namespace galley {
namespace {

constexpr size_t kNodeFields = 4;
constexpr size_t kNodeFieldsWithOwner = 6;
constexpr int kOctal = 8;
constexpr int kDecimal = 10;
constexpr int kHexadecimal = 16;
constexpr char kEscapeOfNames = '\x7f';

bool is_control_of_names(char c) { return (c >= 0 && c < ' ') || c == kEscapeOfNames; }

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
  if (!node.owner) return;
  out.append(" ").append(std::to_string(node.owner->uid));
  out.append(" ").append(std::to_string(node.owner->gid));
}

bool read_node(std::string_view text, Node& node) {
  const auto parts = split_fields(text, ' ');
  int kind = 0;
  const bool has_owner = parts.size() == kNodeFieldsWithOwner;
  if ((parts.size() != kNodeFields && !has_owner) || !read_number(parts[0], kind, kDecimal) ||
      !read_number(parts[1], node.mode, kOctal) || !read_number(parts[2], node.size, kDecimal)) {
    return false;
  }
  if (kind < 0 || kind >= static_cast<int>(FileKind::kOther) || node.mode > kPermissionBits) {
    return false;
  }
  node.kind = static_cast<FileKind>(kind);
  if (has_owner) {
    Node::Owner owner;
    if (!read_number(parts[4], owner.uid) || !read_number(parts[5], owner.gid)) return false;
    if (node.kind != FileKind::kRegular && node.kind != FileKind::kDirectory) return false;
    node.owner = owner;
  }
  const auto content = ContentId::from_hex(parts[3]);
  if (content) node.content = *content;
  return content.has_value();
}

void append_name(std::string& out, std::string_view name) {
  for (;;) {
    const auto* const control = std::find_if(name.begin(), name.end(), is_control_of_names);
    const auto plain = static_cast<size_t>(control - name.begin());
    out.append(name.substr(0, plain));
    if (plain == name.size()) return;
    out.push_back(kEscapeOfNames);
    append_hex(out, static_cast<uint8_t>(name[plain]));
    name.remove_prefix(plain + 1);
  }
}

std::optional<std::string> read_name(std::string_view text) {
  constexpr size_t kDigits = 2;
  std::string name;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_control_of_names(text[at])) {
      name.push_back(text[at]);
      continue;
    }
    const auto byte = number_of<uint8_t>(text.substr(at + 1, kDigits), kHexadecimal);
    if (text[at] != kEscapeOfNames || !byte) return {};
    name.push_back(static_cast<char>(*byte));
    at += kDigits;
  }
  std::string same;
  append_name(same, name);
  if (same != text) return {};
  return name;
}

std::optional<RelPath> read_path_name(std::string_view text) {
  const auto name = read_name(text);
  if (!name) return {};
  auto path = RelPath::parse(*name);
  if (!path || path->str() != *name) return {};
  return *std::move(path);
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
