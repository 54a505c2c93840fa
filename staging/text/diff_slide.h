#pragma once

#include <cstdint>
#include <vector>

#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// One side of a line diff: which of its lines are changed, and how to compare lines.
struct DiffSide {
  const Lines* lines = nullptr;  ///< null: compare only `ids`, without the indent heuristic
  WhiteSpace white_space = WhiteSpace::kExact;
  std::vector<LineId> ids;  ///< of lines [ids_begin, ids_begin + ids.size())
  size_t ids_begin = 0;
  std::vector<uint8_t> changed;  ///< one per line

  [[nodiscard]] size_t size() const { return changed.size(); }
  [[nodiscard]] bool same(size_t i, size_t j) const;
};

/// Moves each run of changed lines of `side` that could also be a few lines higher or lower. The
/// first choice is a position that is aligned with a run of the other side. The second is that of
/// git's indent heuristic (M. Haggerty, diff-slider-tools, 2016, whose weights fit a corpus rated
/// by people). The last is as low as possible. Runs that meet are merged.
void slide_changes(DiffSide& side, const DiffSide& other, bool indent_heuristic);

}  // namespace galley
