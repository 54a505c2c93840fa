#include "base/rel_path.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace galley {
namespace {

constexpr unsigned char kFirstPrintable = 0x20;
constexpr unsigned char kDelete = 0x7f;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < kFirstPrintable || byte == kDelete;
}

tl::unexpected<Error> bad_path(std::string_view text, std::string_view why) {
  std::string shown;
  for (const char c : text.substr(0, 200)) shown.push_back(is_control(c) ? '?' : c);
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

/// Code points that HFS+ ignores when it compares names, as UTF-8 (git's is_hfs_dotgit).
bool is_hfs_ignorable(std::string_view utf8) {
  static constexpr std::array<std::string_view, 16> kIgnorable = {
      "\u200c", "\u200d", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
      "\u202e", "\u206a", "\u206b", "\u206c", "\u206d", "\u206e", "\u206f", "\ufeff"};
  return std::find(kIgnorable.begin(), kIgnorable.end(), utf8) != kIgnorable.end();
}

/// The component as a folding file system would compare it.
std::string folded(std::string_view component) {
  std::string out;
  for (size_t i = 0; i < component.size(); ++i) {
    if (i + 3 <= component.size() && is_hfs_ignorable(component.substr(i, 3))) {
      i += 2;
      continue;
    }
    const char c = component[i];
    if (c == ':') break;  // NTFS alternate stream
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

/// Most names, cheaply: no fold of a name that begins with another ASCII character is protected.
bool may_be_protected(std::string_view component) {
  if (component.empty()) return false;
  const auto first = static_cast<unsigned char>(component.front());
  return first == '.' || first == 'g' || first == 'G' || first == 's' || first == 'S' ||
         first > kDelete;  // a byte that HFS+ may ignore
}

bool is_protected_component(std::string_view component) {
  if (!may_be_protected(component)) return false;
  const std::string name = folded(component);
  return name == ".git" || name == ".galley" || name == ".sage" || name == "git~1" ||
         name == "galley~1" || name == "sage~1";
}

}  // namespace

Result<RelPath> RelPath::parse(std::string_view text) {
  std::string_view rest = text;
  while (rest.starts_with("./")) rest.remove_prefix(2);
  if (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest == ".") return bad_path(text, "names the root, not a file in it");
  if (rest.size() > kMaxBytes) return bad_path(text, "is longer than 4096 bytes");
  if (rest.front() == '/') return bad_path(text, "is absolute");
  if (std::any_of(rest.begin(), rest.end(), is_control)) {
    return bad_path(text, "has a control character");
  }
  size_t count = 0;
  for (size_t start = 0; start <= rest.size();) {
    const size_t end = std::min(rest.find('/', start), rest.size());
    GALLEY_TRY(check_component(text, rest.substr(start, end - start)));
    if (++count > kMaxComponents) return bad_path(text, "has more than 256 components");
    start = end + 1;
  }
  return RelPath(std::string(rest));
}

Result<RelPath> RelPath::of_entry(std::string_view name) {
  GALLEY_TRY(check_component(name, name));
  const bool is_one = name.find('/') == std::string_view::npos;
  if (!is_one || name.find('\0') != std::string_view::npos) {
    return bad_path(name, "is no name of a directory entry");
  }
  return RelPath(std::string(name));
}

Result<RelPath> RelPath::parse_within(std::string_view text, std::string_view root) {
  if (text.empty() || text.front() != '/') return parse(text);
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  const bool below = root == "/" || (text.starts_with(root) && text.size() > root.size() &&
                                     text[root.size()] == '/');
  if (!below) {
    return fail(ErrorKind::kRefused, "path.outside",
                "the path '" + std::string(text) + "' lies outside the workspace '" +
                    std::string(root) + "'",
                std::string(text));
  }
  return parse(text.substr(root == "/" ? 1 : root.size() + 1));
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

bool RelPath::is_protected() const {
  const std::string_view text = str();
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('/', start), text.size());
    if (is_protected_component(text.substr(start, end - start))) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace galley
