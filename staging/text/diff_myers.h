#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/text/intern.h"

namespace galley {

/// A rectangle of the edit graph: lines [a_begin, a_end) against lines [b_begin, b_end).
struct DiffBox {
  int32_t a_begin = 0;
  int32_t a_end = 0;
  int32_t b_begin = 0;
  int32_t b_end = 0;

  [[nodiscard]] int64_t lines() const { return int64_t{a_end} - a_begin + b_end - b_begin; }
};

/// The point where a box is split; exact when an optimal path goes through it.
struct DiffSplit {
  int32_t a = 0;
  int32_t b = 0;
  bool exact = false;
};

/// Finds the middle of a shortest edit path by searching from both corners (diff.h [1], 4b).
///
/// Ownership: borrows both sequences. Memory grows with the work done, not with the texts.
class MiddleSearch {
 public:
  MiddleSearch(const LineId* a, const LineId* b) : a_(a), b_(b) {}

  /// Splits `box`, whose corners must not match. Gives up after about `budget` steps and returns
  /// the point furthest from its corner; that point may be a corner.
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
  int32_t reach_ = 0;  // diagonals that fit on either side of the middle one
  int32_t forward_mid_ = 0, forward_min_ = 0, forward_max_ = 0;
  int32_t backward_mid_ = 0, backward_min_ = 0, backward_max_ = 0;
  bool odd_ = false;
};

/// A line of `a` and a line of `b` that are assumed to be the same.
struct DiffAnchor {
  int32_t a = 0;
  int32_t b = 0;
};

/// Finds the lines of a box that occur once on each side, and the longest sequence of them that is
/// in the same order on both (diff.h [2]).
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
  std::vector<int32_t> place_in_a_;  // by id: its place, or kNowhere, or kOften
  std::vector<int32_t> place_in_b_;
};

}  // namespace galley
