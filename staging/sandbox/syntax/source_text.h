#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// Which branches of preprocessor conditionals a parser sees.
enum class Conditionals : uint8_t {
  kAllDefined,  ///< as if every macro were defined and every expression true
  kNoneDefined,
};

/// Returns a C or C++ text in which the directives and the hidden branches are replaced by blanks:
/// size and lines stay the same. Grammars accept directives only in a few places, and code around a
/// branch is often correct only with that branch alone.
[[nodiscard]] std::string blank_conditionals(std::string_view text, Conditionals shown);

/// Replaces TypeScript syntax that grammar 0.23 does not know with syntax that it knows. All
/// offsets stay the same. `import("x")` becomes a name. `export type *`, `keyof readonly` and
/// `global {` lose the words `type`, `readonly` and `global`.
[[nodiscard]] std::string with_known_types(std::string_view text);

/// A bracket of a text, or a line with a preprocessor conditional (`#if`, `#else`, `#endif`).
struct DelimiterToken {
  enum class Kind : uint8_t { kOpen, kClose, kIf, kElse, kEndIf };
  Kind kind = Kind::kOpen;
  char bracket = 0;  ///< ( [ { for both partners
  uint32_t offset = 0;
};

/// Returns the brackets without a partner, and the places where indentation suggests the partner.
/// Of the branches of an `#if` only the last one counts. Returns nothing when every bracket has a
/// partner.
[[nodiscard]] std::vector<SyntaxError> delimiter_errors(std::string_view text,
                                                        const std::vector<DelimiterToken>& tokens);

}  // namespace galley
