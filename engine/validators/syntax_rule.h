#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// A text and its parser's result.
struct ParsedText {
  std::string_view text;
  const SyntaxAnswer& answer;
};

/// The one place in a file that is reported when a change broke its syntax.
struct SyntaxComplaint {
  uint32_t offset = 0;  ///< in the new text
  uint32_t end = 0;
  std::string message;
  bool operator==(const SyntaxComplaint&) const = default;
};

/// The language of a file by its name, and by its first bytes when the name is ambiguous; nullopt
/// without a grammar.
[[nodiscard]] std::optional<SyntaxLanguage> syntax_language(std::string_view path,
                                                            std::string_view text);

/// Finds an error of `after` that `before` (null for a new file) did not have on a line with the
/// same content. Returns nullopt when all errors existed before, and for C and C++ also when the
/// text that the parser did not understand may be a macro.
[[nodiscard]] std::optional<SyntaxComplaint> broken_syntax(SyntaxLanguage language,
                                                           const ParsedText* before,
                                                           const ParsedText& after);

}  // namespace galley
