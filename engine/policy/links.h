#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// The kind of place to which a symbolic link of the proposed tree leads.
enum class LinkEnd : uint8_t {
  kInside,     ///< to an object in the workspace
  kMissing,    ///< inside, but the target is absent
  kOutside,    ///< absolute, or `..` above the root, at any component
  kProtected,  ///< into `.git`, `.galley` or `.sage`
  kLoop,       ///< more than kMaxLinks links
};

/// Follows `target` from the directory of `link` through the proposed tree as the kernel would,
/// links on the way included (path_resolution(7)).
[[nodiscard]] Result<LinkEnd> follow_link(const ProposedTree& tree, const RelPath& link,
                                          std::string_view target);

}  // namespace galley
