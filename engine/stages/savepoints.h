#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"

/// Savepoints and forks of a stored transaction: files next to its overlay in
/// `.galley/stage/<id>/`.
///
///     savepoints/<n>   "galley savepoint 1", time, name, then the overlay at that time
///     fork             the id of the transaction that this one was forked from
///
/// Contents are never removed while a stage refers to them, so a rollback only changes entries. The
/// cost of these functions depends on the number of staged paths, not on the size of the tree.
namespace galley {

/// One savepoint of a stored transaction.
struct Savepoint {
  std::string name;
  int64_t made_ns = 0;
  size_t changes = 0;  ///< paths that differed from the workspace
};

inline constexpr size_t kMaxSavepoints = 1000;         ///< savepoints of one transaction
inline constexpr size_t kMaxSavepointNameBytes = 200;  ///< the name of a savepoint

/// Stores the present staged state under a name. A name may be used again: the newest savepoint
/// applies.
/// Errors: kUsage `savepoint.bad_name`; kQuota `limit.savepoints`.
Result<void> make_savepoint(const WritableDirectory& stage, std::string_view name,
                            const Overlay::Entries& entries, const Clock& clock);

/// Returns the savepoints, oldest first.
Result<std::vector<Savepoint>> list_savepoints(const Directory& stage);

/// Returns the staged state at the newest savepoint of this name, for Overlay::restore and
/// StoredStage::save. The savepoint stays. After the save, drop_savepoints_after removes the later
/// savepoints.
/// Errors: kNotFound `savepoint.not_found`; kInvalid `stage.damaged`.
Result<Overlay::Entries> entries_at_savepoint(const Directory& stage, std::string_view name);
Result<void> drop_savepoints_after(const WritableDirectory& stage, std::string_view name);

/// Records the parent of a forked stage. A fork does not inherit savepoints.
Result<void> note_fork(const WritableDirectory& child, std::string_view parent_id);

/// Returns the stages that are related to `id` by forks, including `id`, in order. They are the
/// candidates of one choice. `stages` is `.galley/stage`.
Result<std::vector<std::string>> forks_of(const Directory& stages, std::string_view id);

}  // namespace galley
