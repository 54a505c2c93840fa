#include "staging/sandbox/helper/descriptors.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace galley {

void let_others_open(int pipe_end) { (void)fchmod(pipe_end, 0666); }

bool send_descriptors(int socket, const std::vector<int>& descriptors) {
  if (descriptors.size() > kMaxDescriptors) {
    errno = E2BIG;
    return false;
  }
  const size_t bytes = descriptors.size() * sizeof(int);
  char count = static_cast<char>(descriptors.size());
  iovec piece{&count, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors.data(), bytes);
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

bool receive_descriptors(int socket, std::vector<Fd>& descriptors) {
  char count = 0;
  iovec piece{&count, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  const size_t passed = header == nullptr ? 0 : (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < passed; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    descriptors.emplace_back(fd);
  }
  return passed == static_cast<size_t>(count);
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
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

bool failed(SetupFailure& failure, std::string step) {
  if (failure.os_error == 0) {
    failure.os_error = errno;
    failure.step = std::move(step);
  }
  return false;
}

HelperReport report_of(HelperOutcome outcome, const SetupFailure& failure) {
  HelperReport report;
  report.outcome = outcome;
  report.os_error = failure.os_error;
  failure.step.copy(report.step, sizeof report.step - 1);
  return report;
}

const unsigned kSafeMount = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

Fd clone_tree(const std::string& path, unsigned flags) {
  return Fd(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
}

bool set_attributes(int tree, uint64_t attributes) {
  mount_attr attr{};
  attr.attr_set = attributes;
  return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0;
}

}  // namespace galley
