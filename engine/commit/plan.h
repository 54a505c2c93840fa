#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "engine/commit/journal.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// One atomic change of the apply step to the workspace. Every kind has an inverse.
enum class StepKind : uint8_t {
  kMode,             ///< chmod in place; of a directory also chown
  kOpen,             ///< make a directory writable for its owner until it is closed or removed
  kExchange,         ///< slot and path change places
  kPlace,            ///< slot goes to a path that is absent
  kMove,             ///< the inode of another path of the transaction moves here
  kCatch,            ///< path goes into the slot
  kRemoveDirectory,  ///< rmdir
};

struct Step {
  StepKind kind = StepKind::kPlace;
  size_t op = 0;      ///< index into Plan::ops
  size_t source = 0;  ///< kMove: index of the op whose object moves
};

/// The plan for a change set: the operations as the journal stores them, and the order of the
/// swaps.
///
/// Invariant: no step leaves a name that refers to an object that does not exist yet: directories
///            and creations come first, then changes, then deletions. A directory that its owner
///            may not write is made writable while an entry in it changes, if the change set also
///            changes the directory. Else the commit is refused beforehand.
struct Plan {
  std::vector<JournalOp> ops;  ///< sorted by path; the sides do not have owner and attributes yet
  std::vector<Step> steps;
  /// The operations that need a new inode in a slot.
  [[nodiscard]] std::vector<size_t> slots() const;
};

/// The inode that a renamed file gets.
enum class InodeUse : uint8_t {
  kMove,  ///< the old inode moves to the new name, with its links, attributes and open descriptors
  kNew,   ///< the new name gets a new inode. Needed while a view is mounted on the workspace:
          ///< overlayfs identifies an inode with the file of its first lookup, even if its name has
          ///< changed
};

/// Errors: kRefused `path.protected`; kUsage `commit.empty`; kInternal `commit.malformed` for a
///         change set that contradicts itself (unsorted, no difference, special files).
Result<Plan> make_plan(const ChangeSet& changes, InodeUse renamed = InodeUse::kMove);

}  // namespace galley
