#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// The tree after the proposal, for reading by rules and validators.
///
/// Ownership: borrows the proposal and the workspace.
/// Threads:   safe to share.
/// Errors:    as Directory's; kNotFound `path.not_found` for a path that the proposal removes.
class ProposedTree {
 public:
  /// `root_path` is the absolute path of the workspace, or empty without one. It is needed to
  /// recognize absolute paths inside the workspace.
  ProposedTree(const Proposal& proposal, const Directory& workspace, std::string root_path = {});

  /// Sets a name that identifies every byte of the unchanged tree, for example the id of a git
  /// tree.
  void set_base_name(std::string name) { base_name_ = std::move(name); }
  /// Sets the tree that has the files with rules, such as CODEOWNERS, if it is another one: of a
  /// branch, its target's newest state counts.
  void set_rules(const Directory& rules) { rules_ = &rules; }
  [[nodiscard]] const Directory& rules() const { return *rules_; }
  /// Sets the changed links that an undo brings back as they were, sorted. They may lead outside.
  void set_returned_links(std::vector<RelPath> links) { returned_links_ = std::move(links); }
  [[nodiscard]] bool is_returned_link(const RelPath& path) const {
    return std::binary_search(returned_links_.begin(), returned_links_.end(), path);
  }
  /// Returns that name; empty for files on disk.
  [[nodiscard]] const std::string& base_name() const { return base_name_; }

  [[nodiscard]] const Proposal& proposal() const { return *proposal_; }
  /// Returns the unchanged tree, with the state before the proposal.
  [[nodiscard]] const Directory& workspace() const { return *workspace_; }

  [[nodiscard]] const std::string& root_path() const { return root_path_; }

  /// Returns the change of this path, or null.
  [[nodiscard]] const Change* change(const RelPath& path) const;
  /// Returns the node at the path. kAbsent is a value. Only changed paths have a content id.
  [[nodiscard]] Result<Node> node(const RelPath& path) const;
  [[nodiscard]] Result<Content> read(const RelPath& path) const;
  [[nodiscard]] Result<std::string> read_link(const RelPath& path) const;
  /// Returns the entries of a directory, sorted by name, without protected names.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const RelPath& directory) const;
  /// Returns the bytes that a change replaces or removes; empty for a created path.
  [[nodiscard]] Result<Content> read_before(const Change& change) const;

 private:
  [[nodiscard]] bool is_below_changed_file(const RelPath& path) const;

  const Proposal* proposal_;
  const Directory* workspace_;
  const Directory* rules_;
  std::string root_path_;
  std::string base_name_;
  std::vector<RelPath> returned_links_;
};

}  // namespace galley
