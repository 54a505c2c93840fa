#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/glob.h"
#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// The paths in the index of a git repository.
///
/// Reads versions 2 to 4, of SHA-1 and of SHA-256, and a split index (gitformat-index(5)). With a
/// split index, a path is tracked if a part lists it, unless the index deletes it from the shared
/// part. A folder that a sparse index lists counts as a tracked path below that folder.
class TrackedPaths {
 public:
  /// Returns the bytes of a file in the repository's folder; empty when it does not exist.
  using Reader = std::function<std::string(const std::string& name)>;

  /// Without a readable index nothing is tracked.
  static TrackedPaths read(const Reader& reader);

  [[nodiscard]] bool has(std::string_view path) const;
  [[nodiscard]] bool has_below(std::string_view directory) const;
  /// Whether a sparse checkout leaves out this path, so that it may be missing in the work tree. Of
  /// a folder that a sparse index lists, that is every path in it.
  [[nodiscard]] bool is_left_out(std::string_view path) const;

 private:
  std::vector<std::string> paths_;     ///< sorted
  std::vector<std::string> left_out_;  ///< sorted; a folder has a slash at its end
};

/// How git treats a path that may be ignored.
enum class IgnoreAnswer : uint8_t {
  kCounts,        ///< it is tracked, or not ignored
  kIgnored,       ///< with everything below it
  kHoldsTracked,  ///< an ignored folder, but something below it is tracked
};

/// Decides which paths the .gitignore files of a tree ignore, by git's rules (gitignore(5)). Of the
/// files with a matching pattern, the one nearest to the path decides; in that file, the last
/// matching pattern. A path below an ignored directory cannot be included again.
///
/// Every pattern is matched in time linear in the path (base/glob.h). A pattern that is longer than
/// Glob::kMaxPatternBytes, or that git would never match, is skipped.
///
/// Threads: confined to one thread.
class IgnoreRules {
 public:
  /// Returns the text of a directory's .gitignore; empty when it has none.
  using Reader = std::function<std::string(const RelPath& directory)>;
  /// Called from time to time during a match. When it returns true, the match stops.
  using ShouldStop = std::function<bool()>;
  /// The maximum size of one ignore file. A larger file is skipped.
  static constexpr size_t kMaxFileBytes = size_t{1} << 20U;
  /// The maximum size of all cached rules together. Rules that do not fit are read again when
  /// needed.
  static constexpr size_t kMaxKeptBytes = size_t{8} << 20U;

  /// `tracked` is called once, when the first ignored path is found.
  explicit IgnoreRules(Reader read, std::function<TrackedPaths()> tracked = {})
      : read_(std::move(read)), read_tracked_(std::move(tracked)) {}

  /// Adds rules for the whole tree. Every .gitignore overrides them, and so do the rules of earlier
  /// calls.
  void add_outer(std::string_view text);

  /// Whether git would ignore the path if it were not tracked.
  /// Errors: kTimeout `ignore.stopped`.
  Result<bool> is_ignored(const RelPath& path, bool is_directory, const ShouldStop& should_stop);

  /// As is_ignored(), but takes tracked paths into account.
  /// Errors: as is_ignored().
  Result<IgnoreAnswer> answer(const RelPath& path, bool is_directory,
                              const ShouldStop& should_stop);

 private:
  Result<bool> matches(std::string_view path, bool is_directory, const ShouldStop& should_stop);
  const GlobList& rules_of(std::string_view directory);

  Reader read_;
  std::function<TrackedPaths()> read_tracked_;
  std::optional<TrackedPaths> tracked_;
  std::vector<GlobList> outer_;
  std::unordered_map<std::string, GlobList> rules_;    ///< by directory
  std::unordered_map<std::string, bool> directories_;  ///< whether each is ignored
  size_t kept_bytes_ = 0;
};

}  // namespace galley
