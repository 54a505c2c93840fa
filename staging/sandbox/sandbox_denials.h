#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// The place where a program ran that the sandbox may have stopped.
struct RunLocation {
  std::string workspace;  ///< absolute
  RelPath working_directory = RelPath::root();
};

/// Searches the output of a program for signs that the sandbox stopped it. Returns a sentence for
/// people about each restriction, with the remedy. A refused file is named only if the caller may
/// access it outside the sandbox. Inside, the program has neither the rights of root nor the other
/// groups of the caller.
[[nodiscard]] std::vector<std::string> sandbox_denials(std::string_view said,
                                                       const RunLocation& where);

}  // namespace galley
