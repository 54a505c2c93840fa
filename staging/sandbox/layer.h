#pragma once

#include <functional>
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
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

/// A directory that overlayfs lays over the workspace to show the proposed tree: changed files as
/// files, deletes as whiteouts (character device 0:0), everything else absent (kernel
/// documentation, overlayfs.rst). `.galley` is always whited out.
///
/// Invariant: after an Ok from show(), workspace plus layer is what the change set proposes.
/// Ownership: borrows the workspace.
/// Threads:   confined to one thread; no command may run on it while show() works.
class StagedLayer {
 public:
  /// `directory` is empty and ours alone.
  StagedLayer(std::unique_ptr<WritableDirectory> directory, const Directory& workspace);

  /// Makes the layer show these changes; only what differs from the last call is written.
  Result<void> show(const ChangeSet& changes, const ContentStore& store);
  [[nodiscard]] const ContentId& shown() const { return shown_id_; }

 private:
  Result<void> take_away(const Change& change);
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
  std::unordered_set<std::string> hidden_;   ///< paths that are no directory in the proposed tree
  std::unordered_set<std::string> parents_;  ///< directories known to be in the layer
  std::vector<std::pair<RelPath, uint32_t>> late_modes_;  ///< set when everything is written
};

/// How a command's own layer is read back.
struct AbsorbRules {
  IgnoreRule is_ignored;  ///< empty: nothing is
  bool propose_ignored = false;
  std::vector<RelPath> keep;     ///< left alone
  std::vector<RelPath> deleted;  ///< gone without a whiteout (the copy level)
  /// When the command began, by the clock of the file system: a file of the workspace that has
  /// changed since is not what the command saw. 0: not asked.
  int64_t began_ns = 0;
  int64_t ended_ns = 0;  ///< and when it had ended
  Deadline deadline;     ///< asked only with a clock
  const Clock* clock = nullptr;
};

/// What reading back found.
struct AbsorbReport {
  uint64_t staged = 0;
  uint64_t ignored = 0;
  uint64_t protected_paths = 0;
  std::vector<RefusedEffect> refused;  ///< not empty: the overlay is as it was
};

/// Reads the upper layer of a finished command into the overlay: creates, changes, deletes, opaque
/// directories, modes and symbolic links. What overlayfs copied up without a change is left out;
/// git-ignored outputs go to `scratch` by rename. A path whose file changed on disk meanwhile is
/// refused: its base would be taken from what the command never saw. Contents are moved into the
/// overlay's store. Linear in the upper layer; what has several names is hashed once.
/// Errors: kTimeout when the deadline passes; after an Error the overlay is as before.
[[nodiscard]] Result<AbsorbReport> absorb_layer(const WritableDirectory& upper,
                                                const WritableDirectory& scratch, Overlay& overlay,
                                                const AbsorbRules& rules);

/// Whether a name in a layer is a whiteout.
[[nodiscard]] bool is_whiteout(const Directory& directory, const RelPath& name);
[[nodiscard]] Result<void> make_whiteout(const WritableDirectory& directory, const RelPath& path);

/// Gives the layer's root the look of the workspace's, which it covers.
[[nodiscard]] Result<void> imitate_root(const WritableDirectory& layer, const Directory& workspace);

/// Removes a directory tree that a command may have made as hard to remove as it could: any depth,
/// no permissions. Never follows a link. Absent is fine.
[[nodiscard]] Result<void> erase_layer(const WritableDirectory& parent, const RelPath& name);

/// The owner that Galley gives to what it makes for a command: of `like`, when we are root and may
/// choose.
[[nodiscard]] Result<void> imitate_owner(const WritableDirectory& directory, const RelPath& path,
                                         const FileStat& like);

}  // namespace galley
