#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace galley {

/// The kind of failure; it decides the exit status and the tool error code.
enum class ErrorKind {
  kUsage,      ///< the request is malformed: exit status 2
  kInvalid,    ///< an input document is malformed: exit status 2
  kNotFound,   ///< a named object does not exist: exit status 1
  kRefused,    ///< a rule forbids it: exit status 1
  kConflict,   ///< the workspace no longer matches the base of the proposal: exit status 1
  kQuota,      ///< a named limit was reached: exit status 3
  kTimeout,    ///< a deadline passed: exit status 3
  kIo,         ///< a system call failed: exit status 3
  kInternal,   ///< a bug in Galley or in a library: exit status 3
  kUndecided,  ///< failed after the commit point; the next open of the workspace finishes or
               ///< reverts the commit: exit status 75
};

/// Why an operation failed. A value.
///
/// Programs compare `reason`, a stable dotted word (`path.outside`, `io.write`). People read
/// `message`, one sentence that names the place and the remedy.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string reason = {};
  std::string message = {};
  std::string path = {};  ///< the path that failed, relative to the workspace; may be empty
  int os_error = 0;       ///< value of errno, or 0

  bool operator==(const Error&) const = default;
};

/// Returns the exit status of a process that ends with an error of this kind.
[[nodiscard]] int exit_status(ErrorKind kind);

/// A value, or the Error that prevented it. The compiler warns about a result that is not used. No
/// function of Galley throws an exception for a failure; only std::bad_alloc may escape.
///
///     auto text = transaction.read("README.md");
///     if (!text) return report(text.error().message);
///     use(*text);
///
/// Use only functions that C++23's std::expected has, too. It will replace the base class when the
/// compilers have it (docs/adr/0002).
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)                           // NOLINT(google-explicit-constructor)
      : Base(tl::unexpected<Error>(std::move(error))) {}
};

}  // namespace galley
