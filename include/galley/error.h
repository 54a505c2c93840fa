#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

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

/// Why an operation could not find out its answer or do its work. A value.
///
/// `reason` is a stable dotted word for programs (`path.outside`, `io.write`), `message` is one
/// sentence for people that names the place and the way out.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string reason = {};
  std::string message = {};
  std::string path = {};  ///< workspace-relative path concerned, or empty
  int os_error = 0;       ///< errno value, or 0

  bool operator==(const Error&) const = default;
};

/// The process exit status that an error of this kind ends with.
[[nodiscard]] int exit_status(ErrorKind kind);

/// A value, or the Error that kept us from it. The class is [[nodiscard]]: a dropped failure warns.
/// No function of Galley throws for a failure; std::bad_alloc is the one exception that may pass.
///
///     auto text = transaction.read("README.md");
///     if (!text) return report(text.error().message);
///     use(*text);
///
/// Use only what tl::expected and C++23's std::expected share; the base class becomes
/// std::expected when the compilers have it (docs/adr/0002).
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
