#include "staging/text/lines.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace galley {

namespace {

constexpr size_t kGuessSampleBytes = 4096;

// Lines of source text vary little in length, so the first few kilobytes tell how many there are.
size_t guess_line_count(std::string_view text) {
  const auto sample = text.substr(0, kGuessSampleBytes);
  const auto seen = static_cast<size_t>(std::count(sample.begin(), sample.end(), '\n'));
  if (sample.size() == text.size()) return seen + 1;
  return (seen + 1) * (text.size() / sample.size() + 1);
}

}  // namespace

Lines::Lines(std::string_view text) : text_(text) {
  GALLEY_CHECK(text.size() < std::numeric_limits<uint32_t>::max());
  starts_.reserve(std::min(guess_line_count(text), text.size()) + 1);
  starts_.push_back(0);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  for (const char* at = begin; at != end;) {
    const auto* newline =
        static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
    at = newline == nullptr ? end : newline + 1;
    starts_.push_back(static_cast<uint32_t>(at - begin));
  }
}

size_t Lines::line_at(size_t offset) const {
  if (offset >= text_.size()) return size();
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), static_cast<uint32_t>(offset));
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

std::string_view without_terminator(std::string_view line) {
  if (line.empty() || line.back() != '\n') return line;
  line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace galley
