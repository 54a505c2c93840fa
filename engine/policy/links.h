#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Where a symbolic link of the proposed tree leads.
enum class LinkEnd : uint8_t {
  kInside,     ///< to something in the workspace
  kMissing,    ///< inside, but nothing is there
  kOutside,    ///< absolute, or `..` above the root, on the way or at the end
  kProtected,  ///< into `.git`, `.galley` or `.sage`
  kLoop,       ///< more than kMaxLinks links
};

/// Follows `target` from the directory of `link` through the proposed tree as the kernel would,
/// links on the way included (path_resolution(7)).
[[nodiscard]] Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                                          std::string_view target);

}  // namespace galley
