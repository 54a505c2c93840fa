#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// Lines [begin, end) of the new text that the change added, counted from 0.
struct LineBlock {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool operator==(const LineBlock&) const = default;
};

/// The added lines of a change, in order; all lines when there was no text before.
[[nodiscard]] std::vector<LineBlock> added_lines(std::string_view before, const Lines& after);

}  // namespace galley
