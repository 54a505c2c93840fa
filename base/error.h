#pragma once

#include <string>
#include <string_view>

namespace galley {

/// What sort of failure an Error is; decides the exit status and the tool error code.
enum class ErrorKind {
  kUsage,      ///< the caller asked for something malformed: exit status 2
  kInvalid,    ///< an input document is malformed: exit status 2
  kNotFound,   ///< a thing that was named does not exist: exit status 1
  kRefused,    ///< a rule forbids it: exit status 1
  kConflict,   ///< the workspace is not what the proposal was made on: exit status 1
  kQuota,      ///< a named limit was reached: exit status 3
  kTimeout,    ///< a deadline passed: exit status 3
  kIo,         ///< the operating system failed us: exit status 3
  kInternal,   ///< Galley or a library misbehaved: exit status 3
  kUndecided,  ///< failed after the commit point; the next open decides: exit status 75
};

/// Why an operation could not find out its answer or do its work.
///
/// `reason` is a stable dotted word for programs (`path.outside`, `io.write`), `message` is one
/// sentence for people that names the place and the way out.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string reason;
  std::string message;
  std::string path;  ///< workspace-relative path concerned, or empty
  int os_error = 0;  ///< errno value, or 0

  bool operator==(const Error&) const = default;
};

/// The process exit status that an error of this kind ends with.
[[nodiscard]] int exit_status(ErrorKind kind);

/// Makes an Error from errno: "<action> <path>: <strerror>".
[[nodiscard]] Error os_error(int errno_value, std::string_view action, std::string_view path);

}  // namespace galley
