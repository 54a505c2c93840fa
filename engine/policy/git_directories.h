#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// What belongs to git in a workspace under names that do not tell: where the `.git` files and
/// links of the directories that a proposal concerns lead (gitrepository-layout(5)), their
/// `commondir`, and folders that git would take for a repository by what lies in them.
///
/// The root, the directories above each changed path and the submodules that `.gitmodules` lists
/// are looked at, nothing else: the cost does not depend on the size of the tree.
class GitDirectories {
 public:
  /// Looks at the tree as it is and as it would be: a link that the proposal makes is followed,
  /// too.
  /// Errors: as Directory's; kQuota `limit.file_size` for a `commondir` longer than any path.
  [[nodiscard]] static Result<GitDirectories> of(const ProposedTree& tree);

  /// Why no edit may make this change, as one clause; empty when nothing of git's is concerned.
  [[nodiscard]] std::string what_protects(const Change& change) const;
  /// Directories that look like a repository (HEAD beside objects and refs, or beside commondir)
  /// after the proposal, and that it changes.
  [[nodiscard]] const std::vector<RelPath>& lookalikes() const { return lookalikes_; }

 private:
  friend class GitSearch;
  std::set<std::string> directories_;  ///< folded; what lies below them as well
  std::set<RelPath> links_;            ///< passed on the way to one
  std::vector<RelPath> lookalikes_;
};

}  // namespace galley
