#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// A line of a file and its similarity to the wanted text.
struct ScoredLine {
  size_t line = 0;  ///< 0-based
  double part = 0;  ///< part of the text's characters without a change, 0 to 1
};

/// The lines that contain something like `wanted` (one line, without blanks around it), the most
/// similar first. Case is ignored.
///
/// Common pairs of characters select the lines (q-grams: Ukkonen, 1992). These are then compared by
/// the edit distance to the nearest part of the line (Sellers, 1980), in which a swap of neighbours
/// counts as one change. `work` grows by the work done. Beyond kMaxSimilarityWork nothing is found.
[[nodiscard]] std::vector<ScoredLine> similar_lines(const Lines& file, std::string_view wanted,
                                                    uint64_t& work);

}  // namespace galley
