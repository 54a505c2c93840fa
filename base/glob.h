#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// One pattern in gitignore's language (gitignore(5) of git 2.39; wildmatch with WM_PATHNAME).
///
/// Invariant: matching is linear in the path for a given pattern: no backtracking (Thompson 1968).
/// Errors:    parse refuses what git would silently never match: an empty pattern, a comment, an
///            unclosed `[`, a trailing backslash, `.` and `..` components; reason `glob.invalid`.
class Glob {
 public:
  static constexpr size_t kMaxPatternBytes = 1024;

  [[nodiscard]] static Result<Glob> parse(std::string_view pattern);

  /// Whether the pattern names exactly this path (its parents are GlobList's business).
  [[nodiscard]] bool matches(std::string_view path, bool is_directory) const;
  [[nodiscard]] bool is_negated() const { return is_negated_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  bool operator==(const Glob& other) const { return text_ == other.text_; }

 private:
  enum class Op : uint8_t { kByte, kClass, kAnyByte, kStar, kDeepStar, kSkipDeep };
  struct Step {
    Op op = Op::kByte;
    uint8_t byte = 0;       ///< of kByte
    uint16_t class_at = 0;  ///< of kClass: index into classes_
  };
  using ByteSet = std::bitset<256>;
  using States = std::array<uint64_t, kMaxPatternBytes / 64 + 2>;

  Glob() = default;
  [[nodiscard]] Result<void> compile(std::string_view body);
  [[nodiscard]] Result<size_t> compile_class(std::string_view body, size_t at);
  [[nodiscard]] size_t compile_star(std::string_view body, size_t at);
  [[nodiscard]] bool run(std::string_view text) const;
  [[nodiscard]] bool takes(const Step& step, uint8_t byte) const;
  void enter(States& states, size_t at) const;

  std::string text_;
  std::string literal_;  ///< the whole pattern when it has no wildcard
  std::vector<Step> steps_;
  std::vector<ByteSet> classes_;
  bool is_literal_ = false;
  bool is_negated_ = false;
  bool is_anchored_ = false;  ///< names a path from the root, not a name at any depth
  bool is_directory_only_ = false;
};

/// An ordered list of patterns of which the last match wins; `!` takes paths out again.
///
/// A pattern that matches a directory holds for all below it. Unlike a .gitignore file, a later `!`
/// pattern may take a path out below a directory that an earlier one matched: for rules about
/// permission, "last match wins" has no exception. base/ignore_rules.h has git's own reading.
class GlobList {
 public:
  GlobList() = default;
  [[nodiscard]] static Result<GlobList> parse(const std::vector<std::string>& patterns);

  /// Whether the list, its last match winning, takes this path in. An empty list takes nothing.
  [[nodiscard]] bool selects(const RelPath& path, bool is_directory = false) const;
  /// Index of the pattern that decides, when one matches.
  [[nodiscard]] std::optional<size_t> deciding(const RelPath& path, bool is_directory) const;

  [[nodiscard]] bool is_empty() const { return globs_.empty(); }
  [[nodiscard]] const std::vector<Glob>& globs() const { return globs_; }

  bool operator==(const GlobList&) const = default;

 private:
  std::vector<Glob> globs_;
};

/// Whether a name fits a pattern in which `*` stands for any run of characters and `?` for one.
/// Takes at most the product of their lengths.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

/// Whether what a person typed names this path: the path itself, a directory above it, or a pattern
/// of which `*` and `?` also match `/`. A path that really has `*` or `[` in its name is found by
/// that name. Source: gitglossary(7), "pathspec".
[[nodiscard]] bool pathspec_names(std::string_view pathspec, std::string_view path);

/// The path, or a directory above one, that a pathspec which names none of them most likely meant.
[[nodiscard]] std::optional<std::string> nearest_pathspec(std::string_view pathspec,
                                                          const std::vector<std::string>& paths);

}  // namespace galley
