#include "cli/run_idle.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kQuietTime{200};
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr uint64_t kMaxStatBytes = 4096;

/// What /proc/PID/stat says (proc_pid_stat(5)).
struct ProcessStat {
  int64_t parent = 0;
  bool sleeps = false;
  uint64_t start = 0;
  uint64_t ticks = 0;  ///< of processor time
};

std::optional<ProcessStat> stat_of(const std::string& pid) {
  const auto text = read_host_file("/proc/" + pid + "/stat", kMaxStatBytes);
  if (!text) return std::nullopt;
  constexpr int kUserTime = 14;
  constexpr int kSystemTime = 15;
  constexpr int kStart = 22;
  // The name before the state may have any characters.
  std::istringstream fields(text->substr(text->rfind(')') + 1));
  ProcessStat stat;
  std::string state;
  fields >> state >> stat.parent;
  std::string field;
  for (int number = 5; number <= kStart && fields >> field; ++number) {
    const uint64_t value = std::strtoull(field.c_str(), nullptr, 10);
    if (number == kUserTime || number == kSystemTime) stat.ticks += value;
    if (number == kStart) stat.start = value;
  }
  stat.sleeps = state != "R" && state != "D";
  return stat;
}

using Processes = std::map<int64_t, ProcessStat>;  // by their numbers

/// All processes that this user sees.
Processes all_processes() {
  Processes all;
  const auto proc = open_disk_directory("/proc");
  const auto names = proc ? (*proc)->list() : Result<std::vector<DirectoryEntry>>();
  if (!names) return all;
  for (const DirectoryEntry& one : *names) {
    const std::string name = one.name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (const auto stat = stat_of(name)) all[std::strtoll(name.c_str(), nullptr, 10)] = *stat;
  }
  return all;
}

/// The processes of a run, with their start and processor times; empty if one of them does not
/// sleep, or if none is seen.
std::map<int64_t, std::pair<uint64_t, uint64_t>> sleeping_processes(int64_t supervisor) {
  const Processes all = all_processes();
  std::map<int64_t, std::pair<uint64_t, uint64_t>> found;
  for (const auto& [pid, stat] : all) {
    int64_t above = stat.parent;
    for (size_t steps = 0; above != supervisor && steps < all.size(); ++steps) {
      const auto parent = all.find(above);
      if (parent == all.end()) break;
      above = parent->second.parent;
    }
    if (above != supervisor) continue;
    if (!stat.sleeps) return {};
    found[pid] = {stat.start, stat.ticks};
  }
  return found;
}

}  // namespace

bool wait_until_idle(const ProcessIdentity& supervisor, std::chrono::seconds patience,
                     const Clock& clock) {
  const Deadline end = Deadline::after(clock, patience);
  auto before = sleeping_processes(supervisor.pid);
  Deadline quiet = Deadline::after(clock, kQuietTime);
  while (!end.has_passed(clock)) {
    std::this_thread::sleep_for(kLookAgain);
    auto now = sleeping_processes(supervisor.pid);
    if (now.empty() || now != before) {
      before = std::move(now);
      quiet = Deadline::after(clock, kQuietTime);
    } else if (quiet.has_passed(clock)) {
      return true;
    }
  }
  return false;
}

}  // namespace galley
