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

struct ClearedItem {
  std::string what;
  uint64_t bytes = 0;
};

/// Removes leftovers of dead processes, and history that is older than galley.toml keeps it.
Result<std::vector<ClearedItem>> clear_garbage(Workspace& workspace, bool dry_run);

enum class CheckStatus : uint8_t { kOk, kWarning, kError };

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string message;
  std::string remedy;
};

/// Checks the journals, the audit chain, disk use and the sandbox of this machine. With `repair` it
/// mends what it can without losing a byte.
Result<std::vector<Check>> examine(Workspace& workspace, bool repair);

/// A file that recovery or a commit found in its way, and moved aside.
struct RescuedItem {
  std::string name;  ///< `<tx>/<path>`
  uint64_t bytes = 0;
};
Result<std::vector<RescuedItem>> list_rescued(const Workspace& workspace);
Result<std::string> read_rescued(const Workspace& workspace, const std::string& name);
/// Deletes a rescued file. Nothing else in Galley does.
Result<void> drop_rescued(const Workspace& workspace, const std::string& name);

/// Returns one line per transaction that a crash interrupted: whether it was finished or reverted,
/// or would be in a dry run, and the number of its paths. Complete transactions are not listed.
[[nodiscard]] std::vector<std::string> repairs_of(const RecoveryReport& report, bool dry_run);

}  // namespace galley
