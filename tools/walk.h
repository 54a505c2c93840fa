#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "tools/tool.h"

namespace galley {

/// What a walk does after looking at one path.
enum class WalkStep : uint8_t { kGoOn, kSkipDirectory, kStop };

/// Visits everything below `under` in the proposed tree, sorted, directories before what they hold.
/// Protected directories are left out, and, unless `include_ignored`, what the .gitignore files on
/// the way down ignore, and files that the context may not show. Links are not followed.
/// Errors: kTimeout, reason `tool.timeout`; kQuota, reason `limit.walk`, beyond kMaxWalkedPaths.
Result<void> walk(ToolContext& context, const RelPath& under, bool include_ignored,
                  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit);

inline constexpr size_t kMaxWalkedPaths = 2'000'000;

/// The bytes of a file of the proposed tree, without making it a base of the transaction when it is
/// only looked through.
Result<Content> peek(Overlay& overlay, const RelPath& path, uint64_t max_bytes);

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
