#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// The kind of target of a symbolic link in the proposed tree.
enum class LinkEnd : uint8_t {
  kInside,     ///< an object in the workspace
  kMissing,    ///< inside, but the target does not exist
  kOutside,    ///< an absolute path, or `..` above the root at any component
  kProtected,  ///< in `.git`, `.galley` or `.sage`
  kLoop,       ///< more than kMaxLinks links
};

/// Follows `target` from the directory of `link` through the proposed tree, including other links,
/// as the kernel does (path_resolution(7)).
[[nodiscard]] Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                                          std::string_view target);

}  // namespace galley
