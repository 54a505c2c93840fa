#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace galley {

/// The kind of failure; it decides the exit status and the tool error code.
enum class ErrorKind {
  kUsage,      ///< the caller asked for something malformed: exit status 2
  kInvalid,    ///< an input document is malformed: exit status 2
  kNotFound,   ///< something that was named does not exist: exit status 1
  kRefused,    ///< a rule forbids it: exit status 1
  kConflict,   ///< the workspace differs from what the proposal was made on: exit status 1
  kQuota,      ///< a named limit was reached: exit status 3
  kTimeout,    ///< a deadline passed: exit status 3
  kIo,         ///< the operating system failed a request: exit status 3
  kInternal,   ///< Galley or a library misbehaved: exit status 3
  kUndecided,  ///< failed after the commit point; the next open decides: exit status 75
};

/// Why an operation failed. A value.
///
/// `reason` is a stable dotted word for programs (`path.outside`, `io.write`). `message` is one
/// sentence for people that names the place and the remedy.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string reason = {};
  std::string message = {};
  std::string path = {};  ///< workspace-relative path concerned, or empty
  int os_error = 0;       ///< errno value, or 0

  bool operator==(const Error&) const = default;
};

/// The exit status of a process that ends with an error of this kind.
[[nodiscard]] int exit_status(ErrorKind kind);

/// A value, or the Error that prevented it. The class is [[nodiscard]]: ignoring a failure is a
/// warning. No function of Galley throws for a failure; only std::bad_alloc may escape.
///
///     auto text = transaction.read("README.md");
///     if (!text) return report(text.error().message);
///     use(*text);
///
/// Use only what tl::expected and C++23's std::expected share: std::expected will replace the base
/// class when the compilers have it (docs/adr/0002).
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
