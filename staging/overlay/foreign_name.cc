#include "staging/overlay/foreign_name.h"

#include <algorithm>
#include <string_view>

// Why such names are refused:
//
// For the kernel, "~/.bashrc" is a file in a folder named "~", and "src\new.txt" is a file in the
// root. An agent that writes such a name means another place. It believes that the edit was made,
// but the new file is in an unexpected place. Such names are legal on Linux, so existing files may
// be edited.

namespace galley {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_drive(std::string_view text) {
  return text.size() == 2 && is_letter(text[0]) && text[1] == ':';
}

/// A name with one of these characters cannot be a Windows path, so its backslash is an ordinary
/// character.
bool may_be_of_windows(std::string_view text) {
  return text.find_first_of("\"<>|?*") == std::string_view::npos;
}

/// The paths that are suffixes of `text`, longest first.
std::vector<RelPath> ends_of(std::string_view text) {
  std::vector<RelPath> out;
  while (!text.empty()) {
    if (auto path = RelPath::parse(text)) out.push_back(*std::move(path));
    const size_t slash = text.find('/');
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
  }
  return out;
}

}  // namespace

std::optional<ForeignName> foreign_name(const RelPath& path) {
  std::string text = path.str();
  const size_t backslash = text.find('\\');
  std::replace(text.begin(), text.end(), '\\', '/');
  const std::string_view first = std::string_view(text).substr(0, text.find('/'));
  const std::string_view rest =
      std::string_view(text).substr(std::min(first.size() + 1, text.size()));
  ForeignName out{{}, RelPath::root(), {}, false};
  const auto head = RelPath::parse(path.str().substr(0, path.str().find('/')));
  if (head) out.head = *head;
  if (is_drive(first) && !rest.empty()) {
    out.why = "begins with the drive '" + std::string(first) + "' of another system";
  } else if (first.starts_with('~')) {
    out.why = "begins with '~', which only a shell takes for a home directory";
  } else if (first == "$HOME" || first == "${HOME}" || first == "%USERPROFILE%") {
    out.why = "begins with '" + std::string(first) + "', which is replaced only in a shell";
  } else if (backslash != std::string::npos && may_be_of_windows(text)) {
    out.why = "has a backslash, which separates no directories here";
    const size_t end = path.str().find('/', backslash);
    if (auto below = RelPath::parse(path.str().substr(0, end))) out.head = *std::move(below);
    if (auto meant = RelPath::parse(text)) out.meant.push_back(*std::move(meant));
    out.is_sure = !out.meant.empty();
    return out;
  } else {
    return std::nullopt;
  }
  out.meant = ends_of(rest);
  return out;
}

}  // namespace galley
