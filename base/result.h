#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace galley {

/// Turns an Error into the failed side of any Result.
[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// Shorthand for the failed side of any Result.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string reason,
                                                std::string message, std::string path = {}) {
  return fail(Error{kind, std::move(reason), std::move(message), std::move(path), 0});
}

}  // namespace galley

#define GALLEY_CONCAT_INNER(a, b) a##b
#define GALLEY_CONCAT(a, b) GALLEY_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Result) from the calling function, or goes on.
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
