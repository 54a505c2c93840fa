#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// A line of a file and how much it is like the text looked for.
struct Likeness {
  size_t line = 0;  ///< 0-based
  double part = 0;  ///< of the text's characters that need no change, 0 to 1
};

/// The lines that hold something like `wanted` (one line, without blanks around it), the most alike
/// first; case is ignored.
///
/// Pairs of characters that both have choose the lines (q-grams: Ukkonen, 1992); these are then
/// compared by the edit distance to the part of the line that is nearest (Sellers, 1980), an
/// exchange of neighbours counting once. `work` grows by what is read; beyond kMaxSimilarityWork
/// nothing is found.
[[nodiscard]] std::vector<Likeness> similar_lines(const Lines& file, std::string_view wanted,
                                                  uint64_t& work);

}  // namespace galley
