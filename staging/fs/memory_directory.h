#pragma once

#include <memory>

#include "staging/fs/directory.h"

namespace galley {

/// An empty file tree in memory, for tests of everything above the seam.
///
/// Ownership: every Directory opened from it shares the tree.
[[nodiscard]] std::unique_ptr<WritableDirectory> make_memory_directory();

}  // namespace galley
