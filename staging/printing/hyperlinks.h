#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace galley {

/// Writes links to places in files, in the form that terminals support (OSC 8 of
/// https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
///
/// Invariant: a name cannot end a link or control the terminal. An address contains only letters,
///            digits and `-._~/` of a name; every other byte is percent-encoded.
class Hyperlinks {
 public:
  /// `format` is an address with `{path}` (absolute), `{line}`, `{column}` and `{host}`, or a name
  /// such as `file` or `vscode`. Names of files are relative to the absolute path `root`.
  Hyperlinks(std::string_view format, std::string_view root, std::string_view host);

  /// Appends `text`, which must be printable, as a link to a line of a file. Line 0 means the whole
  /// file.
  void append(std::string_view path, uint32_t line, std::string_view text, std::string& out) const;

 private:
  std::string format_;
  std::string root_;
  std::string host_;
};

}  // namespace galley
