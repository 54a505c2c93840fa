#pragma once

namespace galley {

/// Reports a broken invariant on stderr and aborts; never returns.
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace galley

/// A bug in Galley itself, never bad input or a failing system: aborts in every build.
#define GALLEY_CHECK(condition) \
  ((condition) ? void(0) : ::galley::check_failed(#condition, __FILE__, __LINE__))
