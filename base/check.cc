#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace galley {

void check_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "galley: internal error: %s does not hold (%s:%d)\n", expression, file,
               line);
  std::abort();
}

}  // namespace galley
