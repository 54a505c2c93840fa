#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"

namespace galley {

/// A file in a tree of git.
struct MergeEntry {
  std::string mode;  ///< `100644`; empty: no file
  std::string id;

  bool operator==(const MergeEntry&) const = default;
};

/// A merge of several commits.
struct MergedTree {
  std::string tree;
  /// Paths that git could not merge, each with the files of the sides. In `tree` such a file has
  /// both sides with git's conflict markers.
  std::map<std::string, std::vector<MergeEntry>> conflicts;
};

/// Merges the commits as `git merge` does, and returns the tree. If one commit has all others in
/// its history, it is the tree of that commit. Only objects are written. Returns nothing if git
/// cannot do it (it is older than 2.38, or the repository is not writable). Also nothing if more
/// than eight commits remain after those in the history of others are dropped.
/// Source: git-merge-tree(1).
/// Errors: those of GitProgram.
[[nodiscard]] Result<std::optional<MergedTree>> merged_tree(const GitProgram& git,
                                                            std::vector<std::string> commits);

/// The id of the file that a commit has at a path; empty: it has none.
/// Errors: those of GitObjects.
[[nodiscard]] Result<std::string> file_id(const std::shared_ptr<const GitTrees>& trees,
                                          const std::string& commit, const RelPath& path);

/// Whether two commits have the same file at a path, or neither has one.
/// Errors: those of GitObjects.
[[nodiscard]] Result<bool> have_same_file(const std::shared_ptr<const GitTrees>& trees,
                                          const std::string& a, const std::string& b,
                                          const RelPath& path);

}  // namespace galley
