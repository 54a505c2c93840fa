#include "staging/sandbox/helper/admission.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace galley {
namespace {

bool read_all(int fd, void* into, size_t count) {
  auto* at = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = read(fd, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<size_t>(got);
  }
  return true;
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

constexpr size_t kMaxTrees = 120;  // their number goes in one char; the kernel passes 253 at most

std::vector<int> descriptors_of(const LayerTrees& trees) {
  std::vector<int> all;
  if (!trees.workspace.is_open()) return all;
  all = {trees.workspace.get(), trees.upper_home.get()};
  for (const Fd& lower : trees.lowers) all.push_back(lower.get());
  for (const Fd& kept : trees.keep) all.push_back(kept.get());
  for (const Fd& readable : trees.readable) all.push_back(readable.get());
  return all;
}

bool send_trees(int lifeline, const LayerTrees& trees) {
  const std::vector<int> all = descriptors_of(trees);
  if (all.size() > kMaxTrees) {
    errno = E2BIG;
    return false;
  }
  char count = static_cast<char>(all.size());
  iovec piece{&count, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxTrees * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!all.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(all.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(all.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), all.data(), all.size() * sizeof(int));
  }
  return sendmsg(lifeline, &message, MSG_NOSIGNAL) == 1;
}

/// Waits for it; false when the monitor is gone.
bool receive_trees(int lifeline, std::vector<Fd>& trees) {
  char count = 0;
  iovec piece{&count, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxTrees * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(lifeline, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  for (size_t i = 0; header != nullptr && i < static_cast<size_t>(count); ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    trees.emplace_back(fd);
  }
  return trees.size() == static_cast<size_t>(count);
}

}  // namespace

bool sort_trees(const SandboxRequest& request, std::vector<Fd> all, LayerTrees& trees) {
  const size_t keep_begin = 2 + request.lowers.size();
  const size_t readable_begin = keep_begin + request.keep_from.size();
  if (all.size() != readable_begin + request.readable.size()) return false;
  trees.workspace = std::move(all[0]);
  trees.upper_home = std::move(all[1]);
  for (size_t i = 2; i < all.size(); ++i) {
    auto& into = i < keep_begin ? trees.lowers : i < readable_begin ? trees.keep : trees.readable;
    into.push_back(std::move(all[i]));
  }
  return true;
}

bool read_framed(int fd, std::string& bytes) {
  uint64_t size = 0;
  if (!read_all(fd, &size, sizeof size) || size > kMaxRequestBytes) return false;
  bytes.assign(size, '\0');
  return read_all(fd, bytes.data(), size);
}

bool send_admission(int lifeline, const std::string& request, const LayerTrees& trees) {
  const uint64_t size = request.size();
  const std::string_view length(reinterpret_cast<const char*>(&size), sizeof size);
  return send_trees(lifeline, trees) && write_all(lifeline, length) && write_all(lifeline, request);
}

bool receive_admission(int lifeline, SandboxRequest& request, std::vector<Fd>& trees) {
  std::string bytes;
  return receive_trees(lifeline, trees) && read_framed(lifeline, bytes) && decode(bytes, request);
}

}  // namespace galley
