#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/sandbox/syntax/wire.h"

namespace galley {

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
