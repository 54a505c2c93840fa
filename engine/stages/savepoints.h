#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"

/// Savepoints and forks of a stored transaction: files beside its overlay in `.galley/stage/<id>/`.
///
///     savepoints/<n>   "galley savepoint 1", when, name, then the overlay as it was
///     fork             the id of the transaction that this one was forked from
///
/// Contents are never taken away while a stage refers to them, so going back is a matter of its
/// entries alone. What the calls cost is in what is staged, never in the tree.
namespace galley {

/// One savepoint of a stored transaction.
struct Savepoint {
  std::string name;
  int64_t made_ns = 0;
  size_t changes = 0;  ///< paths that differed from the workspace
};

inline constexpr size_t kMaxSavepoints = 1000;
inline constexpr size_t kMaxSavepointNameBytes = 200;

/// Keeps what is staged now under a name. The same name may be given again: the newest counts.
/// Errors: kUsage `savepoint.bad_name`; kQuota `limit.savepoints`.
Result<void> make_savepoint(const WritableDirectory& stage, std::string_view name,
                            const Overlay::Entries& entries, const Clock& clock);

/// Oldest first.
Result<std::vector<Savepoint>> list_savepoints(const Directory& stage);

/// What was staged at the newest savepoint of this name: give it to Overlay::restore and
/// StoredStage::save. The savepoint stays, those made after it are dropped by
/// drop_savepoints_after, which is to be called when the entries are saved.
/// Errors: kNotFound `savepoint.not_found`; kInvalid `stage.damaged`.
Result<Overlay::Entries> entries_at_savepoint(const Directory& stage, std::string_view name);
Result<void> drop_savepoints_after(const WritableDirectory& stage, std::string_view name);

/// Notes in a stage which one it was forked from. Savepoints are not inherited.
Result<void> note_fork(const WritableDirectory& child, std::string_view parent_id);

/// The stages that share a fork with `id`, itself among them, in order: the candidates of which one
/// is picked. `stages` is `.galley/stage`.
Result<std::vector<std::string>> family_of(const Directory& stages, std::string_view id);

}  // namespace galley
