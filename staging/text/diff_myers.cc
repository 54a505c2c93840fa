#include "staging/text/diff_myers.h"

#include <algorithm>
#include <limits>

namespace galley {

namespace {

constexpr int32_t kFirstReach = 64;
constexpr int32_t kUnreached = -1;
constexpr int32_t kUnreachedBackward = std::numeric_limits<int32_t>::max();

}  // namespace

void MiddleSearch::reserve(int32_t cost) {
  if (cost + 2 <= reach_) return;
  const int32_t reach = std::max(kFirstReach, std::max(reach_ * 2, cost + 2));
  const auto grow = [&](std::vector<int32_t>& frontier) {
    std::vector<int32_t> wider(static_cast<size_t>(2 * reach + 1));
    std::copy(frontier.begin(), frontier.end(), wider.begin() + (reach - reach_));
    frontier.swap(wider);
  };
  if (forward_.empty()) {
    forward_.resize(1);
    backward_.resize(1);
  }
  grow(forward_);
  grow(backward_);
  reach_ = reach;
}

DiffSplit MiddleSearch::find(const DiffBox& box, uint64_t budget) {
  reserve(0);
  forward_mid_ = forward_min_ = forward_max_ = box.a_begin - box.b_begin;
  backward_mid_ = backward_min_ = backward_max_ = box.a_end - box.b_end;
  odd_ = ((forward_mid_ - backward_mid_) & 1) != 0;
  forward(forward_mid_) = box.a_begin;
  backward(backward_mid_) = box.a_end;
  uint64_t steps = 0;
  for (int32_t cost = 1;; ++cost) {
    reserve(cost);
    DiffSplit split;
    if (advance_forward(box, split) || advance_backward(box, split)) return split;
    steps += static_cast<uint64_t>(forward_max_ - forward_min_ + backward_max_ - backward_min_) / 2;
    if (steps > budget) return furthest(box);
  }
}

// Two choices decide between equally short paths: the order of the diagonals, and the forward
// search before the backward search. They are as in git, so that the same lines are shown as
// changed.
bool MiddleSearch::advance_forward(const DiffBox& box, DiffSplit& split) {
  if (forward_min_ > box.a_begin - box.b_end) {
    forward(--forward_min_ - 1) = kUnreached;
  } else {
    ++forward_min_;
  }
  if (forward_max_ < box.a_end - box.b_begin) {
    forward(++forward_max_ + 1) = kUnreached;
  } else {
    --forward_max_;
  }
  for (int32_t diagonal = forward_max_; diagonal >= forward_min_; diagonal -= 2) {
    const int32_t right = forward(diagonal - 1);
    const int32_t down = forward(diagonal + 1);
    int32_t a = right >= down ? right + 1 : down;
    int32_t b = a - diagonal;
    while (a < box.a_end && b < box.b_end && a_[a] == b_[b]) ++a, ++b;
    forward(diagonal) = a;
    if (odd_ && diagonal >= backward_min_ && diagonal <= backward_max_ && backward(diagonal) <= a) {
      split = {a, b, true};
      return true;
    }
  }
  return false;
}

bool MiddleSearch::advance_backward(const DiffBox& box, DiffSplit& split) {
  if (backward_min_ > box.a_begin - box.b_end) {
    backward(--backward_min_ - 1) = kUnreachedBackward;
  } else {
    ++backward_min_;
  }
  if (backward_max_ < box.a_end - box.b_begin) {
    backward(++backward_max_ + 1) = kUnreachedBackward;
  } else {
    --backward_max_;
  }
  for (int32_t diagonal = backward_max_; diagonal >= backward_min_; diagonal -= 2) {
    const int32_t up = backward(diagonal - 1);
    const int32_t left = backward(diagonal + 1);
    int32_t a = up < left ? up : left - 1;
    int32_t b = a - diagonal;
    while (a > box.a_begin && b > box.b_begin && a_[a - 1] == b_[b - 1]) --a, --b;
    backward(diagonal) = a;
    if (!odd_ && diagonal >= forward_min_ && diagonal <= forward_max_ && a <= forward(diagonal)) {
      split = {a, b, true};
      return true;
    }
  }
  return false;
}

DiffSplit MiddleSearch::furthest(const DiffBox& box) const {
  const auto clamp = [&](int32_t a, int32_t diagonal) {
    a = std::clamp(a, box.a_begin, box.a_end);
    const int32_t b = std::clamp(a - diagonal, box.b_begin, box.b_end);
    return DiffSplit{std::clamp(b + diagonal, box.a_begin, box.a_end), b, false};
  };
  const auto sum = [](const DiffSplit& split) { return int64_t{split.a} + split.b; };
  DiffSplit ahead{box.a_begin, box.b_begin, false};
  for (int32_t diagonal = forward_max_; diagonal >= forward_min_; diagonal -= 2) {
    const auto point = clamp(forward(diagonal), diagonal);
    if (sum(point) > sum(ahead)) ahead = point;
  }
  DiffSplit behind{box.a_end, box.b_end, false};
  for (int32_t diagonal = backward_max_; diagonal >= backward_min_; diagonal -= 2) {
    const auto point = clamp(backward(diagonal), diagonal);
    if (sum(point) < sum(behind)) behind = point;
  }
  const int64_t gained_ahead = sum(ahead) - box.a_begin - box.b_begin;
  const int64_t gained_behind = int64_t{box.a_end} + box.b_end - sum(behind);
  return gained_ahead >= gained_behind ? ahead : behind;
}

namespace {

constexpr int32_t kNowhere = -1;
constexpr int32_t kOften = -2;

void note(int32_t& place, int32_t at) { place = place == kNowhere ? at : kOften; }

// Patience sorting: pile k has the smallest b at the end of an increasing sequence of k + 1 pairs.
std::vector<DiffAnchor> longest_increasing(const std::vector<DiffAnchor>& pairs) {
  std::vector<int32_t> tails;                       // index of pairs, by length of sequence
  std::vector<int32_t> previous(pairs.size(), -1);  // the previous pair of the best sequence
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto smaller = [&](int32_t tail, int32_t b) {
      return pairs[static_cast<size_t>(tail)].b < b;
    };
    auto pile = tails.end();
    if (!tails.empty() && !smaller(tails.back(), pairs[i].b)) {
      pile = std::lower_bound(tails.begin(), tails.end(), pairs[i].b, smaller);
    }
    if (pile != tails.begin()) previous[i] = *(pile - 1);
    if (pile == tails.end()) {
      tails.push_back(static_cast<int32_t>(i));
    } else {
      *pile = static_cast<int32_t>(i);
    }
  }
  std::vector<DiffAnchor> run(tails.size());
  int32_t at = tails.empty() ? -1 : tails.back();
  for (auto slot = run.rbegin(); slot != run.rend(); ++slot) {
    *slot = pairs[static_cast<size_t>(at)];
    at = previous[static_cast<size_t>(at)];
  }
  return run;
}

}  // namespace

std::vector<DiffAnchor> AnchorSearch::find(const DiffBox& box) {
  if (place_in_a_.empty()) {
    place_in_a_.assign(ids_, kNowhere);
    place_in_b_.assign(ids_, kNowhere);
  }
  for (int32_t i = box.a_begin; i < box.a_end; ++i) note(place_in_a_[a_[i]], i);
  for (int32_t i = box.b_begin; i < box.b_end; ++i) note(place_in_b_[b_[i]], i);
  std::vector<DiffAnchor> pairs;
  for (int32_t i = box.a_begin; i < box.a_end; ++i) {
    const int32_t b = place_in_b_[a_[i]];
    if (b >= 0 && place_in_a_[a_[i]] == i) pairs.push_back({i, b});
  }
  for (int32_t i = box.a_begin; i < box.a_end; ++i) place_in_a_[a_[i]] = kNowhere;
  for (int32_t i = box.b_begin; i < box.b_end; ++i) place_in_b_[b_[i]] = kNowhere;
  return longest_increasing(pairs);
}

}  // namespace galley
