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

/// The length of a drive at the start of a name: `c:`. In `c:new.txt`, the drive's current
/// directory is meant.
size_t drive_length(std::string_view text) {
  return text.size() >= 2 && is_letter(text[0]) && text[1] == ':' ? 2 : 0;
}

/// A name with one of these characters cannot be a Windows path, so its backslash is an ordinary
/// character. Patterns and `\\?\` have `?` and `*`.
bool may_be_of_windows(std::string_view text) {
  return text.find_first_of("\"<>|") == std::string_view::npos;
}

/// True for a variable or a command of a shell: `$PWD`, `${name}`, `$env:NAME`, `%NAME%`, `$(pwd)`.
/// `$name` is the name of a directory for some programs, unless it is in capital letters.
bool is_variable(std::string_view text) {
  const auto is_name = [](std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
    });
  };
  if (text.size() > 2 && text.starts_with('%') && text.ends_with('%')) {
    return is_name(text.substr(1, text.size() - 2));
  }
  if (!text.starts_with('$')) return false;
  text.remove_prefix(1);
  if (text.starts_with('(')) return text.ends_with(')');
  if (text.starts_with('{')) return text.ends_with('}');
  if (text.starts_with("env:")) return is_name(text.substr(4));
  return is_name(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
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
  if (const size_t drive = drive_length(first); drive > 0 && text.size() > drive) {
    out.why =
        "begins with the drive '" + std::string(first.substr(0, drive)) + "' of another system";
  } else if (first.starts_with('~')) {
    out.why = "begins with '~', which only a shell takes for a home directory";
  } else if (is_variable(first)) {
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
  const std::string_view after_drive = first.substr(std::min(drive_length(first), first.size()));
  const bool has_drive_path = drive_length(first) > 0 && !after_drive.empty();
  out.meant = ends_of(has_drive_path ? std::string_view(text).substr(drive_length(first)) : rest);
  return out;
}

}  // namespace galley
