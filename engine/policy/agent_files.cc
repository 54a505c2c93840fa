#include "engine/policy/agent_files.h"

#include <algorithm>
#include <string>

namespace galley {

bool is_agent_file(const RelPath& path) {
  std::string folded = "/";
  for (const std::string_view component : path.components()) folded += folded_name(component) + "/";
  return std::any_of(kAgentFiles.begin(), kAgentFiles.end(), [&](std::string_view place) {
    return folded.find("/" + std::string(place) + "/") != std::string::npos;
  });
}

}  // namespace galley
