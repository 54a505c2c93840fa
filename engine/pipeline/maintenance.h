#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "base/result.h"
#include "engine/commit/recovery.h"

/// Maintenance of a workspace: recovery, garbage collection, checks, rescued files.

namespace galley {

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

}  // namespace galley
