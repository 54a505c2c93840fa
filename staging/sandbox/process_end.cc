#include "staging/sandbox/process_end.h"

#include <dirent.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "staging/fs/disk_file.h"
#include "staging/fs/host_file.h"

namespace galley {

namespace {

constexpr std::chrono::milliseconds kLookTime{1};

/// A process that was found. The descriptor cannot mean a later process with the same number.
struct Listed {
  pid_t pid;
  Descriptor process;
};

/// <sys/pidfd.h> of glibc 2.36 cannot be linked with from C++.
Descriptor open_process(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

/// If it cannot be determined, the answer is true.
bool has_ended(const Descriptor& process, const TimeLimit& limit) {
  if (!process) return true;
  pollfd one = {process.get(), POLLIN, 0};
  while (true) {
    const int ready = ::poll(&one, 1, limit.poll_ms());
    if (ready >= 0 || errno != EINTR) return ready != 0;
  }
}

/// Returns the children of all threads of a process.
std::vector<pid_t> started_by(pid_t pid) {
  constexpr uint64_t kMaxListBytes = uint64_t{64} << 10U;
  std::vector<pid_t> all;
  const std::string threads = fmt::format("/proc/{}/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(threads.c_str()), ::closedir);
  if (folder == nullptr) return all;
  while (const dirent* thread = ::readdir(folder.get())) {
    const auto text =
        read_host_file(fmt::format("{}/{}/children", threads, thread->d_name), kMaxListBytes);
    if (!text) continue;
    std::istringstream pids(*text);
    for (pid_t one = 0; pids >> one;) all.push_back(one);
  }
  return all;
}

/// Adds what the listed processes started.
void add_started(std::vector<Listed>& tree) {
  for (size_t i = 0; i < tree.size(); ++i) {
    if (has_ended(tree[i].process, TimeLimit(kLookTime))) continue;  // its number may be reused
    for (const pid_t pid : started_by(tree[i].pid)) {
      const bool is_known =
          std::any_of(tree.begin(), tree.end(), [&](const Listed& one) { return one.pid == pid; });
      if (!is_known) tree.push_back({pid, open_process(pid)});
    }
  }
}

/// Returns false if the first process may not be sent signals.
bool signal_all(const std::vector<Listed>& tree, int signal) {
  bool is_permitted = true;
  for (const Listed& one : tree) {
    const auto sent = ::syscall(SYS_pidfd_send_signal, one.process.get(), signal, nullptr, 0);
    if (sent != 0 && errno == EPERM && &one == &tree.front()) is_permitted = false;
  }
  return is_permitted;
}

}  // namespace

int TimeLimit::poll_ms() const {
  if (!end_) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*end_ - std::chrono::steady_clock::now())
          .count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

bool has_ended_by(pid_t child, const TimeLimit& limit) {
  return limit.poll_ms() < 0 || has_ended(open_process(child), limit);
}

bool end_tree(pid_t child, std::chrono::milliseconds grace) {
  std::vector<Listed> tree;
  tree.push_back({child, open_process(child)});
  add_started(tree);
  const bool is_permitted = signal_all(tree, SIGTERM);
  const TimeLimit limit(grace);
  for (const Listed& one : tree) (void)has_ended(one.process, limit);
  add_started(tree);
  (void)signal_all(tree, SIGKILL);
  return has_ended(tree.front().process, TimeLimit(is_permitted ? grace : kLookTime));
}

}  // namespace galley
