#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace galley {

/// Links to places in files, as terminals take them (OSC 8 of
/// https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
///
/// Invariant: a name cannot end a link or drive the terminal: of an address every byte that is no
///            letter, digit or `-._~/` of a name is percent-encoded, and nothing else is written.
class Hyperlinks {
 public:
  /// `format` is an address with `{path}` (absolute), `{line}`, `{column}` and `{host}`, or a word
  /// for one: `file`, `vscode`. `root` is the absolute path of what names are relative to.
  Hyperlinks(std::string_view format, std::string_view root, std::string_view host);

  /// Appends `text`, which is printable, as a link to a place; a line of 0 is the file as a whole.
  void append(std::string_view path, uint32_t line, std::string_view text, std::string& out) const;

 private:
  std::string format_;
  std::string root_;
  std::string host_;
};

}  // namespace galley
