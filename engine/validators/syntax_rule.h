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

/// The reported place of a file whose syntax a change broke. Each file has at most one.
struct SyntaxComplaint {
  uint32_t offset = 0;  ///< in the new text
  uint32_t end = 0;
  std::string message;
  bool operator==(const SyntaxComplaint&) const = default;
};

/// Returns the language of a file: by its name, and by its first bytes if the name is ambiguous.
/// Returns nullopt if there is not a grammar.
[[nodiscard]] std::optional<SyntaxLanguage> syntax_language(std::string_view path,
                                                            std::string_view text);

/// Finds an error of `after` that `before` (null for a new file) did not have on a line with the
/// same content. Returns nullopt if all errors existed before. In C and C++ it also returns nullopt
/// if a macro may explain the error.
[[nodiscard]] std::optional<SyntaxComplaint> broken_syntax(SyntaxLanguage language,
                                                           const ParsedText* before,
                                                           const ParsedText& after);

}  // namespace galley
