#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// A text and what its parser says of it.
struct ParsedText {
  std::string_view text;
  const SyntaxAnswer& answer;
};

/// The one place of a file that is named when a change broke its syntax.
struct SyntaxComplaint {
  uint32_t offset = 0;  ///< in the new text
  uint32_t end = 0;
  std::string message;
  bool operator==(const SyntaxComplaint&) const = default;
};

/// The language of a file by its name, and by its first bytes where a name means two; nothing when
/// there is no grammar for it.
[[nodiscard]] std::optional<SyntaxLanguage> syntax_language(std::string_view path,
                                                            std::string_view text);

/// Says what a change broke: an error of `after` that `before` (null for a new file) did not have
/// on a line of the same content. Returns nothing when all errors were there, and for C and C++
/// when what the parser did not understand may be a macro.
[[nodiscard]] std::optional<SyntaxComplaint> broken_syntax(SyntaxLanguage language,
                                                           const ParsedText* before,
                                                           const ParsedText& after);

}  // namespace galley
