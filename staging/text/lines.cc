#include "staging/text/lines.h"

#include <algorithm>
#include <bit>
#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/result.h"

namespace galley {

namespace {

// Lines of source text are rarely shorter on average. If they are, the list must grow.
constexpr size_t kShortLineBytes = 24;
constexpr size_t kFewLines = 16;
#if defined(__SSE2__)
constexpr size_t kBlock = 64;
#endif

}  // namespace

Lines::Lines(std::string_view text) : text_(text) {
  GALLEY_CHECK(text.size() < std::numeric_limits<uint32_t>::max());
  starts_.reserve(text.size() / kShortLineBytes + kFewLines);
  starts_.push_back(0);
  size_t at = 0;
#if defined(__SSE2__)
  // A line has about thirty bytes, so this loop is faster than a call of memchr for each line.
  const __m128i newline = _mm_set1_epi8('\n');
  for (; at + kBlock <= text.size(); at += kBlock) {
    uint64_t found = 0;
    for (size_t k = 0; k < kBlock / sizeof(__m128i); ++k) {
      const auto bytes =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at + k * sizeof(__m128i)));
      const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, newline)));
      found |= uint64_t{mask} << (k * sizeof(__m128i));
    }
    for (; found != 0; found &= found - 1) {
      starts_.push_back(static_cast<uint32_t>(at) + static_cast<uint32_t>(std::countr_zero(found)) +
                        1);
    }
  }
#endif
  for (; at < text.size(); ++at) {
    if (text[at] == '\n') starts_.push_back(static_cast<uint32_t>(at + 1));
  }
  if (!ends_with_newline()) starts_.push_back(static_cast<uint32_t>(text.size()));
}

size_t Lines::line_at(size_t offset) const {
  if (offset >= text_.size()) return size();
  const auto after = std::ranges::upper_bound(starts_, static_cast<uint32_t>(offset));
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

std::string_view without_terminator(std::string_view line) {
  if (line.empty() || line.back() != '\n') return line;
  line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace galley
