#include "cli/agent_processes.h"

#include <unistd.h>

#include <string>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr size_t kMaxProcesses = 64;  // above this one; more are not looked at
constexpr uint64_t kMaxCommandLine = uint64_t{4} << 20U;

}  // namespace

std::vector<ProcessIdentity> processes_above() {
  std::vector<ProcessIdentity> above;
  int64_t next = getppid();
  while (next > 1 && above.size() < kMaxProcesses) {
    above.push_back(ProcessIdentity::of(next));
    next = above.back().parent;
  }
  return above;
}

std::optional<ProcessIdentity> calling_agent() {
  for (const ProcessIdentity& process : processes_above()) {
    const auto words =
        read_host_file("/proc/" + std::to_string(process.pid) + "/cmdline", kMaxCommandLine);
    if (!words) return std::nullopt;
    if (words->find("agent-hook") == std::string::npos) return process;
  }
  return std::nullopt;
}

}  // namespace galley
