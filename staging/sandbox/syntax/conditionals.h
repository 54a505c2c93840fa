#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace galley
