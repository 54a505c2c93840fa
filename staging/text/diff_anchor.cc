#include "staging/text/diff_anchor.h"

#include <algorithm>

namespace galley {

namespace {

constexpr int32_t kNowhere = -1;
constexpr int32_t kOften = -2;

void note(int32_t& place, int32_t at) { place = place == kNowhere ? at : kOften; }

// Patience sorting: pile k ends with the smallest b that ends an increasing run of k + 1 pairs.
std::vector<DiffAnchor> longest_increasing(const std::vector<DiffAnchor>& pairs) {
  std::vector<int32_t> tails;                       // index into pairs, by length of run
  std::vector<int32_t> previous(pairs.size(), -1);  // the pair before, in the best run ending here
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
