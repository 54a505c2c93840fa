#pragma once

#include <set>
#include <string>

#include "staging/sandbox/helper/request.h"

namespace galley {

/// Returns the files that must be executable for the request's programs to start. These are the
/// programs, the interpreters in their first lines, and the dynamic loaders of all of these. After
/// `env`, it adds the program that `env` finds. Directories, which end in `/`, are returned
/// unchanged.
[[nodiscard]] std::set<std::string> executable_files(const SandboxRequest& request);

}  // namespace galley
