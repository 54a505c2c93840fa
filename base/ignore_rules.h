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

/// The paths that the index of a git repository names, whatever else it says of them.
///
/// Reads versions 2 to 4, of SHA-1 and of SHA-256, and an index that is split in two
/// (gitformat-index(5)). Of a split one a path counts until it is gone from both parts; a folder
/// that a sparse index names counts as something below it.
class TrackedPaths {
 public:
  /// The bytes of a file in the folder of the repository; empty when it is not there.
  using Reader = std::function<std::string(const std::string& name)>;

  /// Nothing is tracked where there is no index, or none that can be read.
  static TrackedPaths read(const Reader& reader);

  [[nodiscard]] bool has(std::string_view path) const;
  [[nodiscard]] bool has_below(std::string_view directory) const;

 private:
  std::vector<std::string> paths_;  ///< sorted
};

/// What git makes of a path that may be ignored.
enum class IgnoreAnswer : uint8_t {
  kCounts,        ///< it is tracked, or not ignored
  kIgnored,       ///< with all that is below it
  kHoldsTracked,  ///< an ignored folder, but something below it is tracked
};

/// What the .gitignore files of a tree ignore, by git's rules (gitignore(5)): of the files that
/// match, the one nearest to the path decides, and in it the last pattern; nothing below an ignored
/// directory can be taken back.
///
/// Every pattern is matched in time linear in the path (base/glob.h); one longer than
/// Glob::kMaxPatternBytes, or that git would never match, is passed over.
///
/// Threads: confined to one thread.
class IgnoreRules {
 public:
  /// The text of a directory's .gitignore; empty when it has none.
  using Reader = std::function<std::string(const RelPath& directory)>;
  /// Asked now and then during a match.
  using ShouldStop = std::function<bool()>;
  /// No more is read of one file.
  static constexpr size_t kMaxFileBytes = size_t{1} << 20U;
  /// Rules that are kept of all files together; more are read again when they are needed.
  static constexpr size_t kMaxKeptBytes = size_t{8} << 20U;

  /// `tracked` is called once, when the first path was found to be ignored.
  explicit IgnoreRules(Reader read, std::function<TrackedPaths()> tracked = {})
      : read_(std::move(read)), read_tracked_(std::move(tracked)) {}

  /// Rules for the whole tree that every .gitignore outranks: each call's are outranked by those of
  /// the calls before it.
  void add_outer(std::string_view text);

  /// Whether git would ignore the path if it were not tracked.
  /// Errors: kTimeout `ignore.stopped`.
  Result<bool> is_ignored(const RelPath& path, bool is_directory, const ShouldStop& should_stop);

  /// The same for a path that may be tracked.
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
