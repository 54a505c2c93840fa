#pragma once

#include <string>

#include "staging/sandbox/helper/request.h"

namespace galley {

/// Remembers which step of the set-up failed and why; the first failure stays.
struct SetupFailure {
  std::string step;
  int os_error = 0;
};

/// False, after noting errno under this step.
[[nodiscard]] bool failed(SetupFailure& failure, std::string step);

/// A descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace galley
