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
/// Contents are never removed while a stage refers to them, so going back only changes entries. The
/// cost of these calls depends on the staged paths, never on the tree.
namespace galley {

/// One savepoint of a stored transaction.
struct Savepoint {
  std::string name;
  int64_t made_ns = 0;
  size_t changes = 0;  ///< paths that differed from the workspace
};

inline constexpr size_t kMaxSavepoints = 1000;         ///< savepoints of one transaction
inline constexpr size_t kMaxSavepointNameBytes = 200;  ///< the name of a savepoint

/// Keeps the present staged state under a name. A name may be used again: the newest one counts.
/// Errors: kUsage `savepoint.bad_name`; kQuota `limit.savepoints`.
Result<void> make_savepoint(const WritableDirectory& stage, std::string_view name,
                            const Overlay::Entries& entries, const Clock& clock);

/// Oldest first.
Result<std::vector<Savepoint>> list_savepoints(const Directory& stage);

/// The staged state at the newest savepoint of this name: give it to Overlay::restore and
/// StoredStage::save. The savepoint stays. Call drop_savepoints_after after the entries are saved,
/// to drop the later savepoints.
/// Errors: kNotFound `savepoint.not_found`; kInvalid `stage.damaged`.
Result<Overlay::Entries> entries_at_savepoint(const Directory& stage, std::string_view name);
Result<void> drop_savepoints_after(const WritableDirectory& stage, std::string_view name);

/// Notes the parent of a forked stage. Savepoints are not inherited.
Result<void> note_fork(const WritableDirectory& child, std::string_view parent_id);

/// The stages that share a fork with `id`, including `id`, in order: the candidates from which one
/// is chosen. `stages` is `.galley/stage`.
Result<std::vector<std::string>> forks_of(const Directory& stages, std::string_view id);

}  // namespace galley
