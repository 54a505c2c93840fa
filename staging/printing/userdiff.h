#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace galley {

/// Finds the lines of a file that name the following function, class or section, by language, as
/// git's built-in diff drivers do (gitattributes, "Defining a custom hunk-header").
///
/// Threads: immutable, safe to share; patterns are compiled at their first use.
class UserDiff {
 public:
  virtual ~UserDiff() = default;

  /// The driver for a file of this name; git's plain rule when its language is not known.
  [[nodiscard]] static const UserDiff& for_path(std::string_view path);
  /// git's rule without a driver: a line that begins with a letter, "_" or "$".
  [[nodiscard]] static const UserDiff& plain();

  /// git's name of the driver (gitattributes `diff=<name>`), empty for the plain one.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The part of `line` (without its terminator) for a hunk header, at most `limit` bytes, or
  /// nothing when the line is not a heading.
  [[nodiscard]] virtual std::optional<std::string_view> heading(std::string_view line,
                                                                size_t limit) const = 0;
};

/// git's built-in driver of this name (gitattributes), compiled at its first use; null when Galley
/// does not have it.
///
/// Threads: may be called from any thread.
[[nodiscard]] const UserDiff* pattern_driver(std::string_view name);

}  // namespace galley
