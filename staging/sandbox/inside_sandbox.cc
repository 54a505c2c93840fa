#include "staging/sandbox/inside_sandbox.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint64_t kMaxProcBytes = uint64_t{1} << 16U;
/// The helper's own process name (helper/main.cc); the kernel cuts names at 15 bytes.
constexpr std::string_view kHelperName = "galley-sandbox";
constexpr int kMaxAncestors = 4096;

/// Whether /proc/self/status has the line `name:\tvalue`.
bool has_status(const std::string& status, std::string_view name, std::string_view value) {
  return ("\n" + status).find("\n" + std::string(name) + ":\t" + std::string(value) + "\n") !=
         std::string::npos;
}

struct ProcessFacts {
  std::string name;
  long parent = 0;
};

/// Reads `stat` of proc(5). The name is in parentheses and may itself contain parentheses.
ProcessFacts facts_of(long process) {
  const auto stat = read_host_file("/proc/" + std::to_string(process) + "/stat", kMaxProcBytes);
  if (!stat) return {};
  const size_t begin = stat->find('(');
  const size_t end = stat->rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 > stat->size()) return {};
  return {stat->substr(begin + 1, end - begin - 1),
          std::strtol(stat->c_str() + end + 4, nullptr, 10)};
}

}  // namespace

bool is_inside_sandbox() {
  const auto status = read_host_file("/proc/self/status", kMaxProcBytes);
  // 2: SECCOMP_MODE_FILTER.
  if (!status || !has_status(*status, "NoNewPrivs", "1") || !has_status(*status, "Seccomp", "2")) {
    return false;
  }
  const size_t at = status->find("\nPPid:\t");
  if (at == std::string::npos) return false;
  long process = std::strtol(status->c_str() + at + 7, nullptr, 10);
  for (int i = 0; i < kMaxAncestors && process > 0; ++i) {
    const ProcessFacts facts = facts_of(process);
    if (facts.name == kHelperName) return true;
    process = facts.parent;
  }
  return false;
}

}  // namespace galley
