#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace galley {

namespace {

constexpr int kExitNo = 1;
constexpr int kExitMalformed = 2;
constexpr int kExitFailure = 3;
constexpr int kExitUndecided = 75;  // EX_TEMPFAIL of sysexits.h

}  // namespace

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kInvalid:
      return kExitMalformed;
    case ErrorKind::kNotFound:
    case ErrorKind::kRefused:
    case ErrorKind::kConflict:
      return kExitNo;
    case ErrorKind::kQuota:
    case ErrorKind::kTimeout:
    case ErrorKind::kIo:
    case ErrorKind::kInternal:
      return kExitFailure;
    case ErrorKind::kUndecided:
      return kExitUndecided;
  }
  return kExitFailure;
}

Error os_error(int errno_value, std::string_view action, std::string_view path) {
  Error error;
  error.kind = errno_value == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo;
  error.reason = errno_value == ENOENT ? "io.not_found" : "io.failed";
  error.message = std::string(action);
  if (!path.empty()) error.message.append(" ").append(path);
  error.message.append(": ").append(std::generic_category().message(errno_value));
  error.path = std::string(path);
  error.os_error = errno_value;
  return error;
}

void check_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "galley: internal error: %s does not hold (%s:%d)\n", expression, file,
               line);
  std::abort();
}

}  // namespace galley
