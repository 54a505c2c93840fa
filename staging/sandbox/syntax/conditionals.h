#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace galley {

/// Which branches of the preprocessor's conditionals a parser is shown.
enum class Conditionals : uint8_t {
  kAllDefined,  ///< as if every macro were defined and every expression true
  kNoneDefined,
};

/// Returns a C or C++ text with its directives and the branches that are not shown blanked out: of
/// the same size, and with the same lines. Grammars know directives in few places only, and what
/// stands around a branch often makes sense with that branch alone.
[[nodiscard]] std::string blank_conditionals(std::string_view text, Conditionals shown);

}  // namespace galley
