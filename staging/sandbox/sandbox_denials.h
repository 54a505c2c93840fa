#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// Where a program ran that may have been stopped by the sandbox.
struct RunLocation {
  std::string workspace;  ///< absolute
  RelPath working_directory = RelPath::root();
};

/// The restrictions of the sandbox that a program ran into, found in its output: for each one a
/// sentence for people, with the remedy. A refused file is named only if the caller may read or
/// write it outside: inside, the program has neither root's rights nor the caller's other groups.
[[nodiscard]] std::vector<std::string> sandbox_denials(std::string_view said,
                                                       const RunLocation& where);

}  // namespace galley
