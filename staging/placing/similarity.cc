#include "staging/placing/similarity.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>

#include "base/text.h"
#include "staging/placing/search_help.h"

namespace galley {
namespace {

constexpr size_t kPairs = size_t{1} << 16U;
/// Minimum fraction of the wanted characters that a similar line has.
constexpr double kLeastPart = 0.6;
/// Minimum fraction of the wanted pairs. It is smaller, because a changed character changes two
/// pairs.
constexpr double kLeastPairs = 0.25;

std::string lower_case_head(std::string_view text, size_t limit) {
  return to_lower(text.substr(0, limit));
}

size_t pair_at(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<unsigned char>(text[at])) << 8U |
         static_cast<unsigned char>(text[at + 1]);
}

/// Counts the distinct pairs of characters that lines share with one text.
class PairCounter {
 public:
  explicit PairCounter(std::string_view wanted) : last_seen_(kPairs, 0) {
    for (size_t at = 0; at + 1 < wanted.size(); ++at) {
      uint32_t& mark = last_seen_[pair_at(wanted, at)];
      if (mark == 0) ++pairs_;
      mark = 1;
    }
  }

  [[nodiscard]] size_t pairs() const { return pairs_; }

  size_t common_with(std::string_view line) {
    ++round_;
    size_t common = 0;
    for (size_t at = 0; at + 1 < line.size(); ++at) {
      uint32_t& mark = last_seen_[pair_at(line, at)];
      if (mark == 0 || mark == round_) continue;
      mark = round_;
      ++common;
    }
    return common;
  }

 private:
  std::vector<uint32_t> last_seen_;  // 0: no pair of the text
  uint32_t round_ = 1;
  size_t pairs_ = 0;
};

/// The number of changes that turn some part of `line` into `wanted`.
size_t distance_to_part(std::string_view wanted, std::string_view line) {
  using Row = std::vector<size_t>;
  Row before(line.size() + 1, 0);
  Row above(line.size() + 1, 0);
  Row row(line.size() + 1, 0);
  for (size_t i = 1; i <= wanted.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= line.size(); ++j) {
      const size_t change = above[j - 1] + (wanted[i - 1] == line[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      const bool is_exchange =
          i > 1 && j > 1 && wanted[i - 1] == line[j - 2] && wanted[i - 2] == line[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return *std::min_element(above.begin(), above.end());
}

struct RoughMatch {
  size_t line = 0;
  size_t common = 0;
  size_t length = 0;
};

}  // namespace

std::vector<ScoredLine> similar_lines(const Lines& file, std::string_view wanted, uint64_t& work) {
  std::vector<ScoredLine> out;
  const std::string key = lower_case_head(wanted, kMaxComparedBytes);
  if (key.empty() || work + file.text().size() > kMaxSimilarityWork) return out;
  work += file.text().size() + kPairs;
  PairCounter counter(key);
  std::vector<RoughMatch> rough;
  const auto least = static_cast<size_t>(kLeastPairs * static_cast<double>(counter.pairs()));
  for (size_t i = 0; i < file.size(); ++i) {
    const std::string_view line = without_terminator(file[i]);
    const size_t common = counter.common_with(lower_case_head(line, kMaxComparedLineBytes));
    if (common > least) rough.push_back({i, common, line.size()});
  }
  const auto is_nearer = [&](const RoughMatch& a, const RoughMatch& b) {
    return std::tuple(b.common, a.length, a.line) < std::tuple(a.common, b.length, b.line);
  };
  const size_t kept = std::min(rough.size(), kMaxComparedLines);
  std::partial_sort(rough.begin(), rough.begin() + static_cast<ptrdiff_t>(kept), rough.end(),
                    is_nearer);
  rough.resize(kept);
  for (const RoughMatch& one : rough) {
    const std::string line =
        lower_case_head(without_terminator(file[one.line]), kMaxComparedLineBytes);
    const uint64_t cells = uint64_t{key.size()} * (line.size() + 1);
    if (work + cells > kMaxSimilarityWork) break;
    work += cells;
    const size_t distance = distance_to_part(key, line);
    const double part =
        1.0 - static_cast<double>(distance) / static_cast<double>(std::max<size_t>(key.size(), 1));
    if (part >= kLeastPart) out.push_back({one.line, part});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ScoredLine& a, const ScoredLine& b) { return a.part > b.part; });
  return out;
}

}  // namespace galley
