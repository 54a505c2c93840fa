#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace galley {

/// Finds lines that name the function, class or section that follows them, as git's built-in diff
/// drivers do for each language (gitattributes(5), "Defining a custom hunk-header").
///
/// Threads: immutable, safe to share. Patterns are compiled at their first use.
class UserDiff {
 public:
  virtual ~UserDiff() = default;

  /// The driver for a file with this name; git's default rule if its language is unknown.
  [[nodiscard]] static const UserDiff& for_path(std::string_view path);
  /// git's default rule: a line that begins with a letter, "_" or "$".
  [[nodiscard]] static const UserDiff& plain();

  /// git's name of the driver (gitattributes `diff=<name>`); empty for the default rule.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The part of `line` for a hunk header, at most `limit` bytes; nothing if the line is not a
  /// heading. `line` must lack its terminator.
  [[nodiscard]] virtual std::optional<std::string_view> heading(std::string_view line,
                                                                size_t limit) const = 0;
};

/// git's built-in driver with this name (gitattributes), compiled at its first use; null if Galley
/// does not have it.
///
/// Threads: may be called from any thread.
[[nodiscard]] const UserDiff* pattern_driver(std::string_view name);

}  // namespace galley
