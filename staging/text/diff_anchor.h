#pragma once

#include <cstdint>
#include <vector>

#include "staging/text/diff_myers.h"
#include "staging/text/intern.h"

namespace galley {

/// A line of `a` and a line of `b` that are taken to be the same one.
struct DiffAnchor {
  int32_t a = 0;
  int32_t b = 0;
};

/// Finds the lines of a box that stand once on either side, and of those the longest run that is in
/// the same order on both (diff.h [2]).
///
/// Ownership: borrows both sequences; keeps eight bytes for each distinct id, reused by every box.
class AnchorSearch {
 public:
  AnchorSearch(const LineId* a, const LineId* b, size_t distinct) : a_(a), b_(b), ids_(distinct) {}

  /// Anchors in order; empty when no line is unique on both sides.
  std::vector<DiffAnchor> find(const DiffBox& box);

 private:
  const LineId* a_;
  const LineId* b_;
  size_t ids_;
  std::vector<int32_t> place_in_a_;  // by id: where it stands, or kNowhere, or kOften
  std::vector<int32_t> place_in_b_;
};

}  // namespace galley
