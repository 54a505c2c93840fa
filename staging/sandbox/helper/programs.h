#pragma once

#include <set>
#include <string>

#include "staging/sandbox/helper/request.h"

namespace galley {

/// The files that must be executable for the request's programs to start: they themselves, the
/// interpreters that their first lines name (behind `env` the program it finds), and the dynamic
/// loaders that all of these ask for. Directories, which end in `/`, are among them as they are.
[[nodiscard]] std::set<std::string> executable_files(const SandboxRequest& request);

}  // namespace galley
