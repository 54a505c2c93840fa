// Reads a pattern, a line break and a path. Matching ends, and it agrees with a plain backtracking
// matcher where that one is fast enough.
#include <string_view>

#include "base/glob.h"
#include "base/result.h"

namespace {

/// Understands `*`, `?` and bytes only, within one component.
bool matches_plainly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches_plainly(pattern.substr(1), text) ||
           (!text.empty() && matches_plainly(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         matches_plainly(pattern.substr(1), text.substr(1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t newline = input.find('\n');
  if (newline == input.npos) return 0;
  const std::string_view pattern = input.substr(0, newline);
  const auto path = galley::RelPath::parse(input.substr(newline + 1));
  const auto glob = galley::Glob::parse(pattern);
  if (!glob || !path) return 0;
  const bool is_match = glob->matches(path->str(), false);
  const bool is_plain = pattern.find_first_of("[]\\/!# ") == pattern.npos;
  if (is_plain && pattern.size() < 12 && path->name().size() < 20) {
    GALLEY_CHECK(is_match == matches_plainly(pattern, path->name()));
  }
  return 0;
}
