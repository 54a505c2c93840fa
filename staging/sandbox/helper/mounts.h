#pragma once

#include <cstdint>
#include <string>

#include "staging/sandbox/helper/fd.h"

namespace galley {

/// What every mount of a view is at least.
extern const unsigned kSafeMount;

/// Clones what is mounted at `path` as a detached mount (open_tree(2)); `flags` as it takes them.
/// Closed, with errno set, when that fails.
[[nodiscard]] Fd clone_tree(const std::string& path, unsigned flags);

/// Sets attributes (MOUNT_ATTR_*) of a mount and of those below it.
[[nodiscard]] bool set_attributes(int tree, uint64_t attributes);

}  // namespace galley
