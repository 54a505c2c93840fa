#pragma once

#include <galley/workspace.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/recovery.h"

/// Maintenance of a workspace: recovery, garbage collection, checks, rescued files.

namespace galley {

class StateDirectory;

/// Finishes or reverts interrupted transactions. Returns one sentence per action. With `dry_run` it
/// only reports.
Result<std::vector<std::string>> recover_now(Workspace& workspace, bool dry_run);

/// A removed object and its size.
struct ClearedItem {
  std::string what;
  uint64_t bytes = 0;
};

/// Removes leftovers of dead processes, and history beyond the limits of `[history]`.
Result<std::vector<ClearedItem>> clear_garbage(Workspace& workspace, bool dry_run);

/// The ids of stored transactions that cannot be read, for example after a power cut. `readable`
/// were just read, and are not read again.
Result<std::vector<std::string>> damaged_transactions(
    const StateDirectory& state, const std::vector<Workspace::Stage>& readable = {});

enum class CheckStatus : uint8_t { kOk, kWarning, kError };

/// The result of one check, with a remedy.
struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string message;
  std::string remedy;
};

/// Checks the journals, the audit chain, disk use and the sandbox of this machine. With `repair` it
/// makes the repairs that cannot lose data.
Result<std::vector<Check>> examine(Workspace& workspace, bool repair);

/// A file of another program that recovery or a commit moved aside.
struct RescuedItem {
  std::string name;  ///< `<tx>/<path>`
  uint64_t bytes = 0;
};
Result<std::vector<RescuedItem>> list_rescued(const Workspace& workspace);
Result<std::string> read_rescued(const Workspace& workspace, const std::string& name);
/// Deletes a rescued file. No other function of Galley deletes one.
Result<void> drop_rescued(const Workspace& workspace, const std::string& name);

/// Returns one line per transaction that a crash interrupted: the number of its paths, and whether
/// recovery finished or reverted it (in a dry run: would do so). Does not list complete ones.
[[nodiscard]] std::vector<std::string> repairs_of(const RecoveryReport& report, bool dry_run);

/// Adopts state that this workspace did not create, after a person agreed: a whole `.galley`, or
/// single files in it that are not bound to the workspace.
/// The consequences of an adoption, to which a person agrees. Texts are not escaped.
struct AdoptionPlan {
  std::string doubt;                 ///< why the state is not trusted
  std::vector<std::string> effects;  ///< one sentence for each action of recovery and adoption
  bool operator==(const AdoptionPlan&) const = default;
};

/// Returns the plan of an adoption. Writes nothing.
/// Errors: kRefused `state.not_adoptable` (it belongs to another user, is on another mount, is
///         tracked by git, or is from a newer Galley), `journal.forbidden`; kNotFound
///         `state.nothing_to_adopt`.
Result<AdoptionPlan> plan_adoption(const Workspace& workspace);

/// Carries out the plan: removes approvals, confirmations, grants, caches and kept folders, and
/// binds the rest to this workspace.
/// Errors: as plan_adoption; kConflict `state.changed` if the plan has changed since it was shown.
Result<void> adopt_state(Workspace& workspace, const AdoptionPlan& shown);

/// Whether git tracks files below `.galley`. A checkout could change such files.
/// Errors: those of staging/git, if git cannot be asked.
Result<bool> is_state_tracked(const Workspace& workspace);

}  // namespace galley
