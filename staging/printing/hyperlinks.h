#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace galley {

/// Links to places in files, as terminals take them (OSC 8 of
/// https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
///
/// Invariant: a name cannot end a link or control the terminal: only letters, digits and `-._~/` of
///            a name appear in an address; every other byte is percent-encoded.
class Hyperlinks {
 public:
  /// `format` is an address with `{path}` (absolute), `{line}`, `{column}` and `{host}`, or a word
  /// for one: `file`, `vscode`. `root` is the absolute path that names are relative to.
  Hyperlinks(std::string_view format, std::string_view root, std::string_view host);

  /// Appends `text`, which is printable, as a link to a place; line 0 means the whole file.
  void append(std::string_view path, uint32_t line, std::string_view text, std::string& out) const;

 private:
  std::string format_;
  std::string root_;
  std::string host_;
};

}  // namespace galley
