#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "engine/commit/journal.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// One atomic thing the apply step does to the workspace. Every kind has an inverse.
enum class StepKind : uint8_t {
  kMode,             ///< chmod in place
  kOpen,             ///< a directory lets its owner change it until it is closed or goes away
  kExchange,         ///< slot and path change places
  kPlace,            ///< slot goes to a path that is absent
  kMove,             ///< another path of the transaction comes here, inode and all
  kCatch,            ///< path goes into the slot
  kRemoveDirectory,  ///< rmdir
};

struct Step {
  StepKind kind = StepKind::kPlace;
  size_t op = 0;      ///< index into Plan::ops
  size_t source = 0;  ///< kMove: index of the op that gives its object away
};

/// What a change set becomes: the operations as the journal has them and the order of the swaps.
///
/// Invariant: steps never leave a name that refers to something not there yet: directories and
///            creations first, then changes, then deletions.
///            A directory whose owner may not write is open while something in it changes, if the
///            change is about the directory too; else the commit is refused beforehand.
struct Plan {
  std::vector<JournalOp> ops;  ///< sorted by path, sides without owner and attributes yet
  std::vector<Step> steps;
  /// Ops that need a new inode in a slot.
  [[nodiscard]] std::vector<size_t> slots() const;
};

/// What becomes of the inode of a file that is renamed.
enum class InodeUse : uint8_t {
  kMove,  ///< it moves to the new name, with its links, attributes and open descriptors
  kNew,  ///< the new name gets a new one: while a view is mounted on the workspace, since overlayfs
         ///< takes an inode for the file that it was first seen as, whatever its name is now
};

/// Errors: kRefused `path.protected`; kUsage `commit.empty`; kInternal `commit.malformed` for a
///         change set that contradicts itself (unsorted, no difference, special files).
Result<Plan> make_plan(const ChangeSet& changes, InodeUse renamed = InodeUse::kMove);

}  // namespace galley
