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
  double part = 0;  ///< fraction of the wanted characters that match, 0 to 1
};

/// Returns the lines that contain a text similar to `wanted`, the most similar first. `wanted` is
/// one line without blanks at its ends. Case is ignored.
///
/// First, common pairs of characters select lines (q-grams: Ukkonen, 1992). Then the edit distance
/// to the nearest part of each line is computed (Sellers, 1980); a swap of two adjacent characters
/// is one change. `work` is increased by the work done, and the search stops at kMaxSimilarityWork.
[[nodiscard]] std::vector<ScoredLine> similar_lines(const Lines& file, std::string_view wanted,
                                                    uint64_t& work);

}  // namespace galley
