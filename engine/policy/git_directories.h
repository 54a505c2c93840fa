#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Paths in a workspace that belong to git although their names do not show it. They are the
/// targets of the `.git` files and links of directories that a proposal concerns
/// (gitrepository-layout(5)), their `commondir`, and folders whose contents make git take them for
/// a repository.
///
/// Looks only at the root, the directories above each changed path and the submodules that
/// `.gitmodules` lists, so the cost does not depend on the size of the tree.
class GitDirectories {
 public:
  /// Looks at the present tree and at the proposed tree: a link that the proposal makes is followed
  /// too.
  /// Errors: as Directory's; kQuota `limit.file_size` for a `commondir` longer than any path.
  [[nodiscard]] static Result<GitDirectories> of(const ProposedTree& tree);

  /// Why no edit may make this change, as one clause; empty when it concerns nothing of git.
  [[nodiscard]] std::string protection_reason(const Change& change) const;
  /// Directories that the proposal changes and that look like a repository after it (HEAD next to
  /// objects and refs, or next to commondir).
  [[nodiscard]] const std::vector<RelPath>& similar_names() const { return lookalikes_; }

 private:
  friend class GitSearch;
  std::set<std::string> directories_;  ///< folded; includes everything below them
  std::set<RelPath> links_;            ///< links on the way to a directory
  std::vector<RelPath> lookalikes_;
};

}  // namespace galley
