#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <galley/error.h>

namespace galley {

/// Makes an Error from errno: "<action> <path>: <strerror>".
[[nodiscard]] Error os_error(int errno_value, std::string_view action, std::string_view path);

/// Turns an Error into the failed side of any Result.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// Makes an Error and turns it into the failed side of any Result.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string reason,
                                                std::string message, std::string path = {}) {
  return fail(Error{kind, std::move(reason), std::move(message), std::move(path), 0});
}

/// Reports a broken invariant on stderr and aborts; never returns.
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace galley

#define GALLEY_CONCAT_INNER(a, b) a##b
#define GALLEY_CONCAT(a, b) GALLEY_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Result) from the calling function, or continues.
#define GALLEY_TRY(expression)                                 \
  do {                                                         \
    if (auto galley_result = (expression); !galley_result)     \
      return ::galley::fail(std::move(galley_result.error())); \
  } while (false)

/// `GALLEY_ASSIGN(auto x, f());` declares or assigns x from a Result, or returns its error.
#define GALLEY_ASSIGN(target, expression) \
  GALLEY_ASSIGN_INNER(target, expression, GALLEY_CONCAT(galley_result_, __LINE__))
#define GALLEY_ASSIGN_INNER(target, expression, result)          \
  auto result = (expression);                                    \
  if (!result) return ::galley::fail(std::move(result.error())); \
  target = std::move(*result)

/// Aborts, in every build, if the condition is false. Use it only for bugs in Galley, never for bad
/// input or a failing system.
#define GALLEY_CHECK(condition) \
  ((condition) ? void(0) : ::galley::check_failed(#condition, __FILE__, __LINE__))
