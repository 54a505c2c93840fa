#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/text/intern.h"

namespace galley {

/// A rectangle of the edit graph: lines [a_begin, a_end) and lines [b_begin, b_end).
struct DiffBox {
  int32_t a_begin = 0;
  int32_t a_end = 0;
  int32_t b_begin = 0;
  int32_t b_end = 0;

  [[nodiscard]] int64_t lines() const { return int64_t{a_end} - a_begin + b_end - b_begin; }
};

/// The point where a box is split. It is exact if an optimal path goes through it.
struct DiffSplit {
  int32_t a = 0;
  int32_t b = 0;
  bool exact = false;
};

/// Finds the middle of a shortest edit path by a search from both corners.
/// Source: diff.h [1], section 4b.
///
/// Ownership: borrows both sequences. Memory use depends on the work done, not on the size of the
///            texts.
class MiddleSearch {
 public:
  MiddleSearch(const LineId* a, const LineId* b) : a_(a), b_(b) {}

  /// Splits `box`, whose first lines must differ, and its last lines, too. After about `budget`
  /// steps it returns the point that is furthest from its corner. That point may be a corner.
  DiffSplit find(const DiffBox& box, uint64_t budget);

 private:
  struct Frontier;
  bool advance_forward(const DiffBox& box, DiffSplit& split);
  bool advance_backward(const DiffBox& box, DiffSplit& split);
  DiffSplit furthest(const DiffBox& box) const;
  void reserve(int32_t cost);

  int32_t& forward(int32_t diagonal) { return forward_[at(diagonal - forward_mid_)]; }
  int32_t& backward(int32_t diagonal) { return backward_[at(diagonal - backward_mid_)]; }
  [[nodiscard]] int32_t forward(int32_t diagonal) const {
    return forward_[at(diagonal - forward_mid_)];
  }
  [[nodiscard]] int32_t backward(int32_t diagonal) const {
    return backward_[at(diagonal - backward_mid_)];
  }
  [[nodiscard]] size_t at(int32_t relative) const {
    const int32_t index = relative + reach_;
    return static_cast<size_t>(index);
  }

  const LineId* a_;
  const LineId* b_;
  // Furthest a-position on each diagonal (a - b), indexed relative to the corner's own diagonal.
  std::vector<int32_t> forward_;
  std::vector<int32_t> backward_;
  int32_t reach_ = 0;  // diagonals with room on either side of the middle one
  int32_t forward_mid_ = 0, forward_min_ = 0, forward_max_ = 0;
  int32_t backward_mid_ = 0, backward_min_ = 0, backward_max_ = 0;
  bool odd_ = false;
};

/// A line of `a` and a line of `b` that are treated as the same.
struct DiffAnchor {
  int32_t a = 0;
  int32_t b = 0;
};

/// Finds the lines of a box that occur once on each side, and their longest sequence in the same
/// order on both sides.
/// Source: diff.h [2].
///
/// Ownership: borrows both sequences. Uses eight bytes for each distinct id, which all boxes share.
class AnchorSearch {
 public:
  AnchorSearch(const LineId* a, const LineId* b, size_t distinct) : a_(a), b_(b), ids_(distinct) {}

  /// The anchors in order; empty if no line is unique on both sides.
  std::vector<DiffAnchor> find(const DiffBox& box);

 private:
  const LineId* a_;
  const LineId* b_;
  size_t ids_;
  std::vector<int32_t> place_in_a_;  // by id: its place, or kNowhere, or kOften
  std::vector<int32_t> place_in_b_;
};

}  // namespace galley
