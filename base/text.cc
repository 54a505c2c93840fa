#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace galley {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) lines.push_back(take_line(text));
  return lines;
}

std::string join(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out += between;
    out += text;
  }
  return out;
}

std::string join_some(const std::vector<std::string>& texts, size_t shown) {
  if (texts.size() <= shown) return join(texts);
  const std::vector<std::string> first(texts.begin(),
                                       texts.begin() + static_cast<std::ptrdiff_t>(shown));
  return join(first) + " and " + std::to_string(texts.size() - shown) + " more";
}

/// Table 3-7 of the Unicode standard.
size_t utf8_sequence_length(std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) -> uint8_t {
    return at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0;
  };
  const auto in = [](uint8_t value, uint8_t low, uint8_t high) {
    return value >= low && value <= high;
  };
  if (at >= bytes.size()) return 0;
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (in(first, 0xc2, 0xdf)) return in(byte(1), 0x80, 0xbf) ? 2 : 0;
  if (in(first, 0xe0, 0xef)) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) ? 3 : 0;
  }
  if (in(first, 0xf0, 0xf4)) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return in(byte(1), low, high) && in(byte(2), 0x80, 0xbf) && in(byte(3), 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

std::optional<size_t> first_invalid_utf8(std::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t eight = 0;
    if (at + sizeof eight <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & kHighBits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const bool is_ascii = static_cast<uint8_t>(bytes[at]) < 0x80;
    const size_t length = is_ascii ? 1 : utf8_sequence_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return {};
}

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
    if (to_lower(candidate) == to_lower(name)) return candidate;
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
