#include "staging/sandbox/companion_program.h"

#include <unistd.h>

#include <climits>

namespace galley {

std::string companion_program(std::string_view name) {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0) return {};
  const std::string program(self, static_cast<size_t>(size));
  const std::string folder = program.substr(0, program.rfind('/'));
  for (const char* place : {"/", "/../libexec/galley/", "/../"}) {
    const std::string candidate = folder + place + std::string(name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace galley
