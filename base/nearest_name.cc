#include "base/nearest_name.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kMaxNameBytes = 100;

size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = to_lower(a[i - 1]) == to_lower(b[j - 1]);
      cost[i][j] =
          std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (same ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && to_lower(a[i - 1]) == to_lower(b[j - 2]) &&
                           to_lower(a[i - 2]) == to_lower(b[j - 1]);
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kMaxNameBytes) return {};
  const size_t tolerated = std::max<size_t>(1, name.size() / 3);
  size_t best = tolerated + 1;
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxNameBytes) continue;
    const size_t steps = distance(name, candidate);
    if (steps >= best) continue;
    best = steps;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const auto nearest = nearest_name(name, candidates);
  return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
}

}  // namespace galley
