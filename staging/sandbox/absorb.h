#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ignore_rules.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// Returns how git treats a path. The second argument says whether the path is a directory; after
/// the deadline the result is kTimeout.
using IgnoreRule = std::function<Result<IgnoreAnswer>(const RelPath&, bool, const Deadline&)>;

/// How a command's upper layer is read back.
struct AbsorbRules {
  IgnoreRule is_ignored;  ///< empty: nothing is ignored
  bool propose_ignored = false;
  std::vector<RelPath> keep;     ///< directories that persist between runs: left alone
  std::vector<RelPath> deleted;  ///< deleted without a whiteout (the copy level)
  /// When the command was started and when it had ended, by the clock of the file system. A file of
  /// the workspace that was changed in between is not trusted: the command may have seen its old
  /// contents. 0: not checked.
  int64_t began_ns = 0;
  int64_t ended_ns = 0;
  Deadline deadline;
  const Clock* clock = nullptr;  ///< null: the deadline is not checked
  /// The limit of the command for one file; 0: none. The kernel let it write one byte more, so a
  /// file of that size was cut off and is refused.
  uint64_t max_file_bytes = 0;
  /// A file that was changed on disk is staged with an empty base instead of refused. So every
  /// commit reports a conflict. This does not apply to a file that the command first wrote after
  /// the change. Live runs set this, because a refusal would recur at every attempt.
  bool empties_changed_bases = false;
  /// Contents are copied into the store, not moved. After a refusal the layer is then still
  /// complete for another attempt.
  bool copies_contents = false;
  /// A special file that the command deleted stays, and is reported, instead of a refusal.
  bool leaves_special_files = false;
  /// The command is still running. The layer is only read; nothing in it is moved or changed.
  bool is_live = false;
  /// With is_live: AbsorbReport::copies is wanted.
  bool reports_copies = false;
  /// A time on the clock of the file system, after which it was found that the layer had no effect
  /// beside the staged changes; 0: none. So the command made every other whiteout later.
  int64_t unchanged_ns = 0;
  /// A later time than `began_ns` until which the command has seen every file that came to its
  /// place; 0: none.
  int64_t refreshed_ns = 0;
};

/// The result of reading back.
struct AbsorbReport {
  static constexpr size_t kMaxProtectedNames = 5;  ///< of the protected paths that are named

  uint64_t staged = 0;
  uint64_t ignored = 0;
  uint64_t protected_paths = 0;
  std::string first_ignored;                 ///< one of the ignored paths
  std::vector<std::string> protected_names;  ///< the first of them
  std::vector<std::string> nested_git;       ///< `.git` below the root with new objects
  /// Others that did not exist; none at the root that is named `.git` or `.galley`.
  std::vector<std::string> new_protected;
  std::vector<std::string> left_special;  ///< special files that were deleted, but stay
  /// Directories below the root that got a setuid, setgid or sticky bit. A change has none of these
  /// bits, so this is not staged.
  std::vector<std::string> other_bits;
  std::vector<RefusedEffect> refused;  ///< not empty: the overlay is unchanged
  bool has_cut_files = false;          ///< some were cut off at AbsorbRules::max_file_bytes
  /// Of a live run: files that overlayfs copied up and that are still as on disk. A program may
  /// have only opened them. Their contents are in the overlay's store.
  std::vector<std::pair<RelPath, Node>> copies;
};

/// Reads the upper layer of a finished command into the overlay. All of it is staged or, after a
/// refusal, nothing. The kernel's overlayfs.rst defines the objects of a layer:
///
///     object                          meaning                       result
///     file, symbolic link             created, or copied up         compared, then put
///     character device 0:0            whiteout: deleted             everything below is deleted
///     directory                       created, or holds an effect   merged with the one below
///     directory, opaque attribute     replaces the one below        missing paths are deleted
///     FIFO, socket, other device      made by the command           refused
///     redirect, metacopy attribute    a feature not asked for       refused
///
/// Nothing that the command made is trusted. An effect is refused if a RelPath cannot represent its
/// name. Trees of any depth are walked with a few descriptors. Modes that deny access are changed
/// where that is possible. Every process of the command must be dead, so that the layer no longer
/// changes. With AbsorbRules::is_live, each file is instead read again until it does not change
/// during the read.
///
/// A file that overlayfs copied up but the command did not change is left out. Outputs that git
/// ignores are moved to `scratch`, or stay in place during a live run. An output with the contents
/// of a file that the change deletes is proposed instead, because the command has moved it. A file
/// that was changed on disk while the command ran is refused. Contents are moved into the overlay's
/// store. The cost is linear in the upper layer; a file with several names is hashed once.
///
/// Errors: kTimeout when the deadline passes; kConflict `run.file_changes` for a file of a live
///         layer that changes faster than it can be read; kNotFound for a file that was removed
///         meanwhile. After an Error the overlay is unchanged.
[[nodiscard]] Result<AbsorbReport> absorb_layer(const WritableDirectory& upper,
                                                const WritableDirectory& scratch, Overlay& overlay,
                                                const AbsorbRules& rules);

}  // namespace galley
