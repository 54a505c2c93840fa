#include "staging/sandbox/helper/setup.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace galley {

bool failed(SetupFailure& failure, std::string step) {
  if (failure.os_error == 0) {
    failure.os_error = errno;
    failure.step = std::move(step);
  }
  return false;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace galley
