#pragma once

#include <vector>

#include "staging/overlay/change_set.h"

namespace galley {

/// The changes of directories that no file in the change set tells of: made or removed empty, or
/// given another mode. In order of path; the pointers are into `changes`.
[[nodiscard]] std::vector<const Change*> bare_directories(const ChangeSet& changes);

}  // namespace galley
