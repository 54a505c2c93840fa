#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The tree after the proposal: everything that a rule or validator can see, read only.
///
/// Ownership: borrows both; they must outlive it. Threads: safe to share.
/// Errors:    as Directory's; a path that the proposal removes is kNotFound `path.not_found`.
class ProposedTree {
 public:
  /// `root_path` is the absolute path of the workspace, if it has one: it is needed to recognise an
  /// absolute path that leads back inside.
  ProposedTree(const Proposal& proposal, const Directory& workspace, std::string root_path = {});

  /// Sets a name that identifies every byte of the unchanged tree, for example the id of a git
  /// tree.
  void set_base_name(std::string name) { base_name_ = std::move(name); }
  /// Empty when there is no such name: files on disk.
  [[nodiscard]] const std::string& base_name() const { return base_name_; }

  [[nodiscard]] const Proposal& proposal() const { return *proposal_; }
  /// The unchanged tree, for the state before the proposal.
  [[nodiscard]] const Directory& workspace() const { return *workspace_; }

  [[nodiscard]] const std::string& root_path() const { return root_path_; }

  /// The change of this path, or nullptr.
  [[nodiscard]] const Change* change(const RelPath& path) const;
  /// The node at the path; absent is a value. The content id is known for changed paths only.
  [[nodiscard]] Result<Node> node(const RelPath& path) const;
  [[nodiscard]] Result<Content> read(const RelPath& path) const;
  [[nodiscard]] Result<std::string> read_link(const RelPath& path) const;
  /// Entries sorted by name, protected names left out.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> list(const RelPath& directory) const;
  /// The bytes that a change replaces or removes; empty content for a created path.
  [[nodiscard]] Result<Content> read_before(const Change& change) const;

 private:
  [[nodiscard]] bool is_below_changed_file(const RelPath& path) const;

  const Proposal* proposal_;
  const Directory* workspace_;
  std::string root_path_;
  std::string base_name_;
};

}  // namespace galley
