#pragma once

#include <cstdint>
#include <vector>

#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// One side of a line diff: which of its lines are changed, and how to compare two of them.
struct DiffSide {
  const Lines* lines = nullptr;  ///< null: compare by `ids` alone, without the indent heuristic
  WhiteSpace white_space = WhiteSpace::kExact;
  std::vector<LineId> ids;  ///< of lines [ids_begin, ids_begin + ids.size())
  size_t ids_begin = 0;
  std::vector<uint8_t> changed;  ///< one per line

  [[nodiscard]] size_t size() const { return changed.size(); }
  [[nodiscard]] bool same(size_t i, size_t j) const;
};

/// Moves every run of changed lines of `side` that could be a few lines higher or lower. It goes
/// where it joins a run of the other side, or else where git's indent heuristic puts it (M.
/// Haggerty, diff-slider-tools, 2016: weights fitted to a corpus rated by people), or else as low
/// as possible. Runs that meet become one.
void slide_changes(DiffSide& side, const DiffSide& other, bool indent_heuristic);

}  // namespace galley
