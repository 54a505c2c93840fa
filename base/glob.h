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
/// Errors:    `glob.invalid` for a pattern that git would silently never match: an empty pattern, a
///            comment, an unclosed `[`, a trailing backslash, `.` and `..` components.
class Glob {
 public:
  static constexpr size_t kMaxPatternBytes = 1024;  ///< one pattern of globs

  [[nodiscard]] static Result<Glob> parse(std::string_view pattern);

  /// Returns whether the pattern matches this path itself. GlobList also checks its parent
  /// directories.
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
  void note_literal_end();
  [[nodiscard]] bool run(std::string_view text) const;
  [[nodiscard]] bool takes(const Step& step, uint8_t byte) const;
  void enter(States& states, size_t at) const;

  std::string text_;
  std::string literal_;      ///< the whole pattern, if it has only literal bytes
  std::string literal_end_;  ///< the literal bytes at the end of a pattern with wildcards
  std::vector<Step> steps_;
  std::vector<ByteSet> classes_;
  bool is_literal_ = false;
  bool is_any_with_end_ = false;  ///< any name that ends in literal_end_
  bool is_negated_ = false;
  bool is_anchored_ = false;  ///< matches from the root, not at any depth
  bool is_directory_only_ = false;
};

/// An ordered list of patterns. The last match wins; `!` excludes paths again.
///
/// A pattern that matches a directory also applies to everything below it. Unlike in a .gitignore
/// file, a later `!` pattern may exclude a path below a directory that an earlier pattern matched.
/// Permission rules need "last match wins" without exceptions. For the rules of git see
/// base/ignore_rules.h.
class GlobList {
 public:
  GlobList() = default;
  [[nodiscard]] static Result<GlobList> parse(const std::vector<std::string>& patterns);

  /// Whether the list selects this path; the last match decides. An empty list selects nothing.
  [[nodiscard]] bool selects(const RelPath& path, bool is_directory = false) const;
  /// Returns the index of the pattern that decides; nothing if no pattern matches.
  [[nodiscard]] std::optional<size_t> deciding(const RelPath& path, bool is_directory) const;

  [[nodiscard]] bool is_empty() const { return globs_.empty(); }
  [[nodiscard]] const std::vector<Glob>& globs() const { return globs_; }

  bool operator==(const GlobList&) const = default;

 private:
  std::vector<Glob> globs_;
};

/// Whether a name matches a pattern in which `*` means any run of characters and `?` any single
/// character. The time is at most proportional to the product of their lengths.
[[nodiscard]] bool name_matches(std::string_view pattern, std::string_view name);

/// Whether a pathspec that a person typed names this path. A pathspec is the path itself, a
/// directory above it, or a pattern in which `*` and `?` also match `/`. A path that contains `*`
/// or `[` is also found by its literal name. Source: gitglossary(7), "pathspec".
[[nodiscard]] bool pathspec_names(std::string_view pathspec, std::string_view path);

/// Returns the path, or the directory above a path, that a pathspec most likely meant. It is for a
/// pathspec that names none of the paths.
[[nodiscard]] std::optional<std::string> nearest_pathspec(std::string_view pathspec,
                                                          const std::vector<std::string>& paths);

}  // namespace galley
