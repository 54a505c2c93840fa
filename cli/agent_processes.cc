#include "cli/agent_processes.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr size_t kMaxProcesses = 64;  // above this one; more are not looked at
constexpr uint64_t kMaxCommandLine = uint64_t{4} << 20U;
constexpr std::string_view kHook = "agent-hook";

/// Whether the process stands between an agent and this hook: a shell whose command names the
/// hook, or a launcher with its arguments. The texts of agents' other arguments may name it, too.
bool is_on_the_way(std::string_view command_line) {
  bool is_shell = false;
  for (size_t begin = 0, word = 0; begin < command_line.size(); ++word) {
    const size_t end = std::min(command_line.find('\0', begin), command_line.size());
    const std::string_view text = command_line.substr(begin, end - begin);
    begin = end + 1;
    if (word == 0) is_shell = text.ends_with("sh");
    if (text == kHook || (is_shell && text.find(kHook) != std::string_view::npos)) return true;
  }
  return false;
}

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
    if (!is_on_the_way(*words)) return process;
  }
  return std::nullopt;
}

}  // namespace galley
