#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/overlay.h"
#include "tools/tool.h"

namespace galley {

/// The next step of a walk after one path.
enum class WalkStep : uint8_t { kGoOn, kSkipDirectory, kStop };

/// Notes a path in the context, if the user may not read it. Returns whether it was: then the
/// search goes on.
bool note_unreadable(const Error& error, const RelPath& path, ToolContext& context);

/// Visits everything below `under` in the proposed tree, sorted, each directory before its entries.
/// It leaves out protected directories, files that the context may not show, and what is in a
/// directory that note_unreadable() noted, if it is not `under`. Without `include_ignored` it also
/// leaves out paths that .gitignore files on the way ignore. It does not follow links.
/// Errors: kTimeout, reason `tool.timeout`; kQuota, reason `limit.walk`, beyond kMaxWalkedPaths.
Result<void> walk(ToolContext& context, const RelPath& under, bool include_ignored,
                  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit);

inline constexpr size_t kMaxWalkedPaths = 2'000'000;  ///< paths that one search visits

/// The bytes of a file of the proposed tree. Reading it here does not make it a base of the
/// transaction.
Result<Content> peek(Overlay& overlay, const RelPath& path, uint64_t max_bytes);

/// The paths that a search covers: a glob in gitignore's syntax, also with `{a,b}` alternatives.
///
/// Errors: kInvalid, reason `glob.invalid`.
class PathFilter {
 public:
  /// An empty pattern matches every path.
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
