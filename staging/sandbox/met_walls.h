#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"

namespace galley {

/// Where a program ran that may have met the walls of the sandbox.
struct WhereItRan {
  std::string workspace;  ///< absolute
  RelPath working_directory = RelPath::root();
};

/// What a program met that it would not have met outside, by what it wrote of it: for each wall a
/// sentence for people, with the way out. A file that was refused is named when the caller may read
/// or write it outside: the program has neither root's rights inside nor the caller's other groups.
[[nodiscard]] std::vector<std::string> met_walls(std::string_view said, const WhereItRan& where);

}  // namespace galley
