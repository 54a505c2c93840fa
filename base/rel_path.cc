#include "base/rel_path.h"

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "base/result.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr unsigned char kDelete = 0x7f;
constexpr size_t kShownPathBytes = 200;

tl::unexpected<Error> bad_path(std::string_view text, std::string_view why) {
  const std::string shown = printable_line(text, kShownPathBytes);
  return fail(ErrorKind::kInvalid, "path.invalid",
              "the path '" + shown + "' " + std::string(why) +
                  "; name files relative to the workspace root",
              shown);
}

Result<void> check_component(std::string_view text, std::string_view component) {
  if (component.empty()) return bad_path(text, "has an empty component");
  if (component == ".") return bad_path(text, "has a '.' component");
  if (component == "..") return bad_path(text, "has a '..' component");
  if (component.size() > RelPath::kMaxComponentBytes) {
    return bad_path(text, "has a component of more than 255 bytes");
  }
  return {};
}

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

/// Code points that folding file systems ignore when they compare names: those of HFS+ (git's
/// is_hfs_dotgit) and of ext4 with casefold (Default_Ignorable_Code_Point of Unicode 15), as one
/// list.
bool is_ignorable(uint32_t code_point) {
  static constexpr std::array<CodePointRange, 17> kIgnorable = {{{0x00ad, 0x00ad},
                                                                 {0x034f, 0x034f},
                                                                 {0x061c, 0x061c},
                                                                 {0x115f, 0x1160},
                                                                 {0x17b4, 0x17b5},
                                                                 {0x180b, 0x180f},
                                                                 {0x200b, 0x200f},
                                                                 {0x202a, 0x202e},
                                                                 {0x2060, 0x206f},
                                                                 {0x3164, 0x3164},
                                                                 {0xfe00, 0xfe0f},
                                                                 {0xfeff, 0xfeff},
                                                                 {0xffa0, 0xffa0},
                                                                 {0xfff0, 0xfff8},
                                                                 {0x1bca0, 0x1bca3},
                                                                 {0x1d173, 0x1d17a},
                                                                 {0xe0000, 0xe0fff}}};
  return std::any_of(kIgnorable.begin(), kIgnorable.end(), [&](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

/// The code point of a well-formed sequence.
uint32_t code_point_of(std::string_view sequence) {
  static constexpr std::array<uint8_t, 5> kFirstBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code_point = static_cast<uint8_t>(sequence.front()) & kFirstBits[sequence.size()];
  for (const char c : sequence.substr(1)) {
    code_point = code_point << 6U | (static_cast<uint8_t>(c) & 0x3fU);
  }
  return code_point;
}

/// A cheap test that excludes most names: if a name begins with another ASCII character, none of
/// its folded forms is protected.
bool may_be_protected(std::string_view component) {
  if (component.empty()) return false;
  const auto first = static_cast<unsigned char>(component.front());
  return first == '.' || first == 'g' || first == 'G' || first == 's' || first == 'S' ||
         first > kDelete;  // a byte that HFS+ may ignore
}

bool is_protected_component(std::string_view component) {
  if (!may_be_protected(component)) return false;
  const std::string name = folded_name(component);
  return name == ".git" || name == ".galley" || name == ".sage" || name == "git~1" ||
         name == "galley~1" || name == "sage~1";
}

bool is_configuration_component(std::string_view component) {
  if (!may_be_protected(component)) return false;
  const std::string name = folded_name(component);
  return name == "galley.toml" || name == "galley~1.tom";
}

bool any_component(std::string_view path, bool (*is_meant)(std::string_view)) {
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    if (is_meant(path.substr(start, end - start))) return true;
    start = end + 1;
  }
  return false;
}

/// An absolute path without `.`, `..` and repeated slashes, computed only from the text.
std::string plain_path(std::string_view absolute) {
  std::string plain;
  for (size_t start = 0; start < absolute.size();) {
    const size_t end = std::min(absolute.find('/', start), absolute.size());
    const std::string_view part = absolute.substr(start, end - start);
    start = end + 1;
    if (part == "..") plain.resize(plain.empty() ? 0 : plain.rfind('/'));
    if (!part.empty() && part != "." && part != "..") plain.append("/").append(part);
  }
  return plain.empty() ? "/" : plain;
}

}  // namespace

Result<RelPath> RelPath::parse(std::string_view text) {
  std::string_view rest = text;
  // `.//a` is `a` for every program, but `/a` is another file.
  while (rest.starts_with("./")) {
    rest.remove_prefix(std::min(rest.find_first_not_of('/', 1), rest.size()));
  }
  if (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest == ".") return bad_path(text, "names the root, not a file in it");
  if (rest.size() > kMaxBytes) return bad_path(text, "is longer than 4096 bytes");
  if (rest.front() == '/') return bad_path(text, "is absolute");
  if (rest.find('\0') != rest.npos) return bad_path(text, "has a NUL");
  size_t count = 0;
  for (size_t start = 0; start <= rest.size();) {
    const size_t end = std::min(rest.find('/', start), rest.size());
    GALLEY_TRY(check_component(text, rest.substr(start, end - start)));
    if (++count > kMaxComponents) return bad_path(text, "has more than 256 components");
    start = end + 1;
  }
  return RelPath(std::string(rest));
}

Result<RelPath> RelPath::parse_within(std::string_view text, std::string_view root) {
  if (text.empty() || text.front() != '/') return parse(text);
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  const std::string plain = plain_path(text);
  if (plain == root) return bad_path(text, "names the root, not a file in it");
  const size_t skipped = root == "/" ? 0 : root.size();
  if (plain.starts_with(root) && plain[skipped] == '/') {
    return parse(std::string_view(plain).substr(skipped + 1));
  }
  return fail(
      ErrorKind::kRefused, "path.outside",
      "the path '" + std::string(text) + "' lies outside the workspace '" + std::string(root) + "'",
      std::string(text));
}

std::string_view RelPath::name() const {
  const size_t slash = text_.rfind('/');
  return slash == std::string::npos ? std::string_view(text_)
                                    : std::string_view(text_).substr(slash + 1);
}

RelPath RelPath::parent() const {
  const size_t slash = text_.rfind('/');
  return slash == std::string::npos ? RelPath() : RelPath(text_.substr(0, slash));
}

std::vector<std::string_view> RelPath::components() const& {
  std::vector<std::string_view> parts;
  const std::string_view all = text_;
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find('/', start), all.size());
    parts.push_back(all.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

Result<RelPath> RelPath::join(const RelPath& child) const {
  if (is_root()) return child;
  if (child.is_root()) return *this;
  return parse(text_ + "/" + child.text_);
}

bool RelPath::is_below(const RelPath& ancestor) const {
  if (ancestor.is_root()) return !is_root();
  return text_.size() > ancestor.text_.size() && text_.starts_with(ancestor.text_) &&
         text_[ancestor.text_.size()] == '/';
}

bool RelPath::is_protected() const { return any_component(text_, is_protected_component); }

bool RelPath::is_configuration() const { return any_component(text_, is_configuration_component); }

std::string folded_name(std::string_view component) {
  // The only non-ASCII letters that full case folding or decomposition turns into ASCII letters.
  constexpr uint32_t kLongS = 0x17f;
  constexpr uint32_t kKelvinSign = 0x212a;
  std::string out;
  for (size_t at = 0; at < component.size();) {
    const size_t length = std::max<size_t>(1, utf8_sequence_length(component, at));
    const std::string_view piece = component.substr(at, length);
    at += length;
    const char c = piece.front();
    if (c == ':') break;  // NTFS alternate stream
    if (length == 1) {
      out.push_back(to_lower(c));
      continue;
    }
    const uint32_t code_point = code_point_of(piece);
    if (code_point == kLongS) {
      out.push_back('s');
    } else if (code_point == kKelvinSign) {
      out.push_back('k');
    } else if (!is_ignorable(code_point)) {
      out += piece;
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

RelPath chosen_path(std::string_view text) {
  auto path = RelPath::parse(text);
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

}  // namespace galley
