#include "staging/sandbox/helper/usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace galley {
namespace {

constexpr size_t kProcFileBytes = 4096;

using ProcText = std::array<char, kProcFileBytes>;

std::string_view read_proc(int process, const char* name, ProcText& text) {
  const int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text.data(), text.size() - 1);
  close(fd);
  if (got <= 0) return {};
  text[static_cast<size_t>(got)] = '\0';
  return {text.data(), static_cast<size_t>(got)};
}

/// The number after `key` at the start of a line of "key: number" lines.
uint64_t field_of(std::string_view text, const char* key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos
             ? 0
             : std::strtoull(text.data() + at + std::strlen(key), nullptr, 10);
}

/// utime, stime, cutime, cstime of /proc/<pid>/stat, in clock ticks.
uint64_t ticks_of(std::string_view stat) {
  const size_t name_end = stat.rfind(')');  // the name may contain any character
  if (name_end == std::string_view::npos) return 0;
  constexpr int kFieldsBeforeUtime = 11;
  const char* at = stat.data() + name_end + 1;
  for (int i = 0; i < kFieldsBeforeUtime && at != nullptr; ++i) at = std::strchr(at + 1, ' ');
  if (at == nullptr) return 0;
  uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    char* next = nullptr;
    sum += std::strtoull(at, &next, 10);
    at = next;
  }
  return sum;
}

uint64_t private_resident(std::string_view statm) {
  static const auto kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  char* at = nullptr;
  std::strtoull(statm.data(), &at, 10);
  const uint64_t resident = std::strtoull(at, &at, 10);
  return resident * kPage;
}

/// Counts all resident memory if the kernel does not report the proportional share, so that the
/// limit still holds.
uint64_t proportional_resident(int process, ProcText& text) {
  constexpr uint64_t kKib = 1024;
  const std::string_view shares = read_proc(process, "smaps_rollup", text);
  if (!shares.empty()) return field_of(shares, "\nPss:") * kKib;
  const std::string_view statm = read_proc(process, "statm", text);
  return statm.empty() ? 0 : private_resident(statm);
}

Usage measure(const std::set<pid_t>* chosen, uint64_t suspect_memory_bytes) {
  static const auto kTicks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  Usage usage;
  ProcText text{};
  uint64_t ticks = 0;
  for_each_process(chosen, [&](int process) {
    ticks += ticks_of(read_proc(process, "stat", text));
    const std::string_view statm = read_proc(process, "statm", text);
    if (!statm.empty()) usage.memory_bytes += private_resident(statm);
    usage.written_bytes += field_of(read_proc(process, "io", text), "\nwrite_bytes: ");
    ++usage.processes;
  });
  usage.cpu_ns = ticks * (kNsPerSecond / kTicks);
  if (suspect_memory_bytes != 0 && usage.memory_bytes > suspect_memory_bytes) {
    usage.memory_bytes = 0;
    for_each_process(
        chosen, [&](int process) { usage.memory_bytes += proportional_resident(process, text); });
  }
  return usage;
}

}  // namespace

void for_each_process(const std::set<pid_t>* chosen, const std::function<void(int)>& visit) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return;
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (chosen == nullptr ? pid == 1 : !chosen->contains(pid)) continue;
    const int process = openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (process < 0) continue;
    visit(process);
    close(process);
  }
  closedir(proc);
}

Usage measure_all(uint64_t suspect_memory_bytes) { return measure(nullptr, suspect_memory_bytes); }

Usage measure_these(const std::set<pid_t>& processes, uint64_t suspect_memory_bytes) {
  return measure(&processes, suspect_memory_bytes);
}

void add_waited_for(Usage& usage) {
  constexpr uint64_t kNsPerUs = 1000;
  constexpr uint64_t kBlock = 512;
  constexpr uint64_t kKib = 1024;
  rusage used{};
  if (getrusage(RUSAGE_CHILDREN, &used) != 0) return;
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
           static_cast<uint64_t>(time.tv_usec) * kNsPerUs;
  };
  usage.cpu_ns += ns(used.ru_utime) + ns(used.ru_stime);
  usage.written_bytes += static_cast<uint64_t>(used.ru_oublock) * kBlock;
  usage.peak_bytes = static_cast<uint64_t>(used.ru_maxrss) * kKib;
}

}  // namespace galley
