#include "tools/path_filter.h"

#include <utility>

namespace galley {
namespace {

constexpr size_t kMaxAlternatives = 256;

tl::unexpected<Error> invalid(const std::string& pattern, const std::string& why) {
  return fail(ErrorKind::kInvalid, "glob.invalid", "the pattern '" + pattern + "' " + why);
}

/// Positions that cut `{a,b}` at `open` into its parts, the closing brace last; empty when it never
/// closes.
std::vector<size_t> cuts_of(const std::string& text, size_t open) {
  std::vector<size_t> cuts;
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == ',' && depth == 1) {
      cuts.push_back(i);
    } else if (text[i] == '}' && --depth == 0) {
      cuts.push_back(i);
      return cuts;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_braces(const std::string& pattern) {
  std::vector<std::string> open = {pattern};
  std::vector<std::string> done;
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    const size_t brace = text.find('{');
    if (brace == std::string::npos || (brace > 0 && text[brace - 1] == '\\')) {
      done.push_back(text);
      continue;
    }
    const std::vector<size_t> cuts = cuts_of(text, brace);
    if (cuts.empty()) return invalid(pattern, "has a '{' without its '}'");
    size_t start = brace + 1;
    std::vector<std::string> parts;
    for (const size_t cut : cuts) {
      parts.push_back(text.substr(0, brace) + text.substr(start, cut - start) +
                      text.substr(cuts.back() + 1));
      start = cut + 1;
    }
    open.insert(open.end(), std::make_move_iterator(parts.rbegin()),
                std::make_move_iterator(parts.rend()));
    if (open.size() + done.size() > kMaxAlternatives) {
      return invalid(pattern,
                     "has more than " + std::to_string(kMaxAlternatives) + " alternatives");
    }
  }
  return done;
}

Result<PathFilter> PathFilter::parse(const std::string& pattern) {
  PathFilter filter;
  filter.takes_all_ = pattern.empty();
  if (filter.takes_all_) return filter;
  GALLEY_ASSIGN(const std::vector<std::string> globs, expand_braces(pattern));
  GALLEY_ASSIGN(filter.globs_, GlobList::parse(globs));
  return filter;
}

bool PathFilter::selects(const RelPath& path, bool is_directory) const {
  return takes_all_ || globs_.selects(path, is_directory);
}

}  // namespace galley
