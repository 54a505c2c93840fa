#pragma once

#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/git_directories.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Applies `[policy.effects]` to a proposal: limits of the whole change, and rules about special
/// kinds of paths. Appends every judgement that is not kAllow.
[[nodiscard]] Result<void> judge_effects(const Config& config, const ProposedTree& tree,
                                         const GitDirectories& git, std::vector<Judgement>& out);

/// Whether git takes the content for binary: it has a NUL in its first 8000 bytes.
[[nodiscard]] bool is_binary(std::string_view content);

/// Returns pairs of paths of the proposed tree whose names differ only in case. The proposal
/// creates at least one path of each pair.
[[nodiscard]] Result<std::vector<std::pair<RelPath, RelPath>>> case_collisions(
    const ProposedTree& tree);

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
