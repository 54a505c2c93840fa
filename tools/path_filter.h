#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// Which paths a search is about: a glob in gitignore's language, with `{a,b}` alternatives
/// besides.
///
/// Errors: kInvalid, reason `glob.invalid`.
class PathFilter {
 public:
  /// An empty pattern takes every path.
  static Result<PathFilter> parse(const std::string& pattern);

  [[nodiscard]] bool selects(const RelPath& path, bool is_directory = false) const;

 private:
  GlobList globs_;
  bool takes_all_ = false;
};

/// `a{b,c{d,e}}` -> ab, acd, ace.
/// Errors: kInvalid, reason `glob.invalid`, beyond 256 alternatives or without a closing brace.
Result<std::vector<std::string>> expand_braces(const std::string& pattern);

}  // namespace galley
