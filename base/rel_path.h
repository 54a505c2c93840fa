#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// A path inside the workspace, relative to its root: the only way to name a file.
///
/// Invariant: one or more components joined by `/`; no component is empty, `.` or `..`, or longer
///            than kMaxComponentBytes; no NUL and no control character (but of_entry); at most
///            kMaxBytes in all. The empty RelPath is the root itself and can only be made by
///            RelPath::root().
/// Errors:    parse refuses everything else and says which rule was broken. Bytes that are not
///            UTF-8 are allowed: a path is bytes, as the kernel has it.
class RelPath {
 public:
  static constexpr size_t kMaxBytes = 4096;          // PATH_MAX
  static constexpr size_t kMaxComponentBytes = 255;  // NAME_MAX
  static constexpr size_t kMaxComponents = 256;

  /// The workspace root.
  [[nodiscard]] static RelPath root() { return RelPath(); }

  /// Parses untrusted text; a leading `./` and a trailing `/` are dropped, nothing is decoded.
  static Result<RelPath> parse(std::string_view text);

  /// The name of an entry that the system listed, whatever bytes it has: for removing a tree that
  /// holds names nobody could give us. Never kept, never shown.
  static Result<RelPath> of_entry(std::string_view name);

  /// Parses text that may also be absolute, in which case it must lie inside `root` (itself
  /// absolute). Only text is compared; what the kernel finds there is checked at each access.
  static Result<RelPath> parse_within(std::string_view text, std::string_view root);

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] bool is_root() const { return text_.empty(); }
  /// Last component; empty for the root.
  [[nodiscard]] std::string_view name() const;
  /// The path without its last component; the root's parent is the root.
  [[nodiscard]] RelPath parent() const;
  [[nodiscard]] std::vector<std::string_view> components() const&;
  /// They point into the path, so it has to have a name.
  [[nodiscard]] std::vector<std::string_view> components() const&& = delete;
  /// `child` may be any RelPath; joining keeps every invariant but the length, hence a Result.
  [[nodiscard]] Result<RelPath> join(const RelPath& child) const;
  /// True when this path lies strictly below `ancestor`.
  [[nodiscard]] bool is_below(const RelPath& ancestor) const;
  /// True when a component is `.git`, `.galley` or `.sage` in any of the spellings that a file
  /// system may fold to it (case, HFS+ ignorable code points, NTFS short names, streams and
  /// trailing dots or spaces): no edit may touch such a path.
  [[nodiscard]] bool is_protected() const;
  /// True when a component is `galley.toml` in any such spelling: what the rules themselves say.
  [[nodiscard]] bool is_configuration() const;

  auto operator<=>(const RelPath&) const = default;
  bool operator==(const RelPath&) const = default;

 private:
  RelPath() = default;
  explicit RelPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The name as a file system that folds names would compare it: ASCII letters in lower case, code
/// points that HFS+ or ext4 (Unicode's Default_Ignorable_Code_Point) ignore left out, NTFS streams
/// and trailing dots and spaces dropped.
[[nodiscard]] std::string folded_name(std::string_view component);

}  // namespace galley

template <>
struct std::hash<galley::RelPath> {
  size_t operator()(const galley::RelPath& path) const noexcept {
    return std::hash<std::string>()(path.str());
  }
};
