#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace galley {

/// Tells which lines of a file name the function, class or section that follows, by language:
/// what git's built-in diff drivers (gitattributes, "Defining a custom hunk-header") match.
///
/// Threads: immutable, safe to share; patterns are compiled at their first use.
class UserDiff {
 public:
  virtual ~UserDiff() = default;

  /// The driver for a file of this name; git's plain rule when no language is known for it.
  [[nodiscard]] static const UserDiff& for_path(std::string_view path);
  /// git's rule without a driver: a line that begins with a letter, "_" or "$".
  [[nodiscard]] static const UserDiff& plain();

  /// git's name of the driver (gitattributes `diff=<name>`), empty for the plain one.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What a hunk header shows of `line` (without its terminator), at most `limit` bytes of it, or
  /// nothing when the line names nothing.
  [[nodiscard]] virtual std::optional<std::string_view> heading(std::string_view line,
                                                                size_t limit) const = 0;
};

/// git's built-in driver of this name (gitattributes), compiled at its first use; null when there
/// is none here.
///
/// Threads: may be called from any thread.
[[nodiscard]] const UserDiff* pattern_driver(std::string_view name);

}  // namespace galley
