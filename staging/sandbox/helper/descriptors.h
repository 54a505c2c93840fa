#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/sandbox/helper/request.h"

// Descriptors are passed over unix sockets (SCM_RIGHTS, unix(7)), together with one byte: their
// number.

namespace galley {

/// A file descriptor that closes itself.
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

/// Maximum number of descriptors per message. The kernel's maximum is 253.
inline constexpr size_t kMaxDescriptors = 120;

/// Sends the descriptors; they stay open here. Returns false with errno set on failure, E2BIG for
/// too many.
[[nodiscard]] bool send_descriptors(int socket, const std::vector<int>& descriptors);

/// Waits for send_descriptors() of the other side and appends its descriptors to `descriptors`.
/// Returns false when the other side is gone.
[[nodiscard]] bool receive_descriptors(int socket, std::vector<Fd>& descriptors);

/// Writes all bytes to a blocking descriptor. Returns false with errno set on failure.
[[nodiscard]] bool write_all(int fd, std::string_view bytes);

/// The first step of the set-up that failed, and the reason.
struct SetupFailure {
  std::string step;
  int os_error = 0;
};

/// Records errno under this step, unless an earlier failure is recorded. Returns false.
[[nodiscard]] bool failed(SetupFailure& failure, std::string step);

/// Returns a report with `failure`.
[[nodiscard]] HelperReport report_of(HelperOutcome outcome, const SetupFailure& failure);

/// The minimum attributes of every mount in a view.
extern const unsigned kSafeMount;

/// Clones the mount at `path` as a detached mount (open_tree(2)) with its `flags`. Closed, with
/// errno set, on failure.
[[nodiscard]] Fd clone_tree(const std::string& path, unsigned flags);

/// Sets attributes (MOUNT_ATTR_*) of a mount and of the mounts below it.
[[nodiscard]] bool set_attributes(int tree, uint64_t attributes);

/// Lets the command open the pipe by its name, as /dev/stdout, although it may run as another user.
/// Only a process that has the pipe finds that name. A failure only leaves the name closed.
void let_others_open(int pipe_end);

}  // namespace galley
