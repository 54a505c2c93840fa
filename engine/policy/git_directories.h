#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Paths in a workspace that belong to git although their names do not show it
/// (gitrepository-layout(5)): the targets of `.git` files and links, their `commondir`, and folders
/// that git takes for a repository because of their contents.
///
/// The search looks only at the root, the directories above each changed path, and the submodules
/// in `.gitmodules`. So its cost does not depend on the size of the tree.
class GitDirectories {
 public:
  /// Searches the present and the proposed tree. So it also follows links that the proposal
  /// creates.
  /// Errors: as Directory's; kQuota `limit.file_size` for a `commondir` longer than any path.
  [[nodiscard]] static Result<GitDirectories> of(const ProposedTree& tree);

  /// Returns why no edit may make this change, as one clause; empty if git does not own the path.
  [[nodiscard]] std::string protection_reason(const Change& change) const;
  /// Returns the changed directories that look like a repository after the proposal (HEAD next to
  /// objects and refs, or next to commondir).
  [[nodiscard]] const std::vector<RelPath>& similar_names() const { return lookalikes_; }

 private:
  friend class GitSearch;
  std::set<std::string> directories_;  ///< folded; includes everything below them
  std::set<RelPath> links_;            ///< links on the way to a directory
  std::vector<RelPath> lookalikes_;
};

}  // namespace galley
