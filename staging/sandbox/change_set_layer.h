#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/absorb.h"

namespace galley {

/// The hash that names what a view shows: the changes, and the times of their files.
[[nodiscard]] ContentId view_id(const ChangeSet& changes);

/// A directory that overlayfs mounts over the workspace to show a change set: changed files as
/// files, deletions as whiteouts, unchanged paths absent (kernel documentation, overlayfs.rst).
/// A file has the time at which it was written, so make rebuilds what is older than its source.
///
/// Invariant: after show() has succeeded, workspace plus layer equals the proposed tree.
/// Ownership: owns the directory's handle; borrows the workspace.
/// Threads:   confined to one thread; no command may run on the layer while show() writes.
class ChangeSetLayer {
 public:
  /// `directory` must be empty. No other code may write to it while this object exists.
  ChangeSetLayer(std::unique_ptr<WritableDirectory> directory, const Directory& workspace);

  /// Makes the layer show these changes; writes only what differs from the last call. After an
  /// Error the layer shows no change set and must not be used again.
  Result<void> show(const ChangeSet& changes, const ContentStore& store);
  /// The view_id() of the change set that the layer shows.
  [[nodiscard]] const ContentId& shown() const { return shown_id_; }

 private:
  Result<void> remove_entry(const Change& change);
  Result<void> write(const Change& change, const ContentStore& store);
  Result<void> write_node(const RelPath& path, const Change& change, const ContentStore& store);
  Result<void> make_merged_parents(const RelPath& path);
  Result<void> make_merged_parent(const RelPath& path);
  Result<void> give_owner(const RelPath& path, const Change& change);
  [[nodiscard]] bool is_below_reset(const RelPath& path) const;
  [[nodiscard]] bool is_hidden_above(const RelPath& path) const;

  std::unique_ptr<WritableDirectory> directory_;
  const Directory* workspace_;
  ChangeSet shown_;
  ContentId shown_id_;
  bool has_root_ = false;
  std::unordered_set<std::string> reset_;    ///< paths whose layer object changed kind
  std::unordered_set<std::string> hidden_;   ///< paths without a directory in the proposed tree
  std::unordered_set<std::string> parents_;  ///< directories known to be in the layer
  std::vector<std::pair<RelPath, uint32_t>> late_modes_;  ///< set after everything is written
};

/// Finds files that changed on disk while the command ran. It checks the paths that were just
/// absorbed from `upper` and are not in `before`. Their effects are based on old contents, but
/// their bases were read from the disk afterwards, so a commit would undo the change without a
/// conflict. Such a path is refused, or gets an empty base (AbsorbRules::empties_changed_bases).
[[nodiscard]] Result<void> check_changed_files(const Overlay::Entries& before,
                                               const WritableDirectory& upper, Overlay& overlay,
                                               const AbsorbRules& rules, AbsorbReport& report);

}  // namespace galley
