#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// The lines of a file that resemble a pre-image most, matched line by line.
struct NearPlace {
  size_t begin = 0;  ///< lines [begin, end) of the file
  size_t end = 0;
  /// For each line of the pre-image, the equal line of the file, or -1. Ascending.
  std::vector<int64_t> partner;
};

/// Aligns `pattern` with the file's lines around `start` by their longest common subsequence.
[[nodiscard]] NearPlace align_near(const Lines& file, const std::vector<std::string_view>& pattern,
                                   int64_t start);

}  // namespace galley
