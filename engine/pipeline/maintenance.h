#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "base/result.h"
#include "engine/commit/recovery.h"

/// What keeps a workspace in order: recovery, clearing, checks, rescued bytes.

namespace galley {

/// Writes galley.toml; refuses to replace one unless `force`.
/// Errors: kRefused `init.exists`.
Result<void> write_config(const Workspace& workspace, const std::string& text, bool force);

/// Finishes or takes back what a crash left; one sentence an action. With `dry_run` only says so.
Result<std::vector<std::string>> recover_now(Workspace& workspace, bool dry_run);

struct ClearedItem {
  std::string what;
  uint64_t bytes = 0;
};

/// Clears what dead processes left and history beyond the retention of galley.toml.
Result<std::vector<ClearedItem>> clear_garbage(Workspace& workspace, bool dry_run);

enum class CheckStatus : uint8_t { kOk, kWarning, kError };

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string message;
  std::string remedy;
};

/// Checks journals, audit chain, index, disk use and what this machine offers; with `repair` mends
/// what can be mended without losing a byte.
Result<std::vector<Check>> examine(Workspace& workspace, bool repair);

/// Bytes of others that recovery or a commit moved aside.
struct RescuedItem {
  std::string name;  ///< `<tx>/<path>`
  uint64_t bytes = 0;
};
Result<std::vector<RescuedItem>> list_rescued(const Workspace& workspace);
Result<std::string> read_rescued(const Workspace& workspace, const std::string& name);
/// The only way in which Galley deletes rescued bytes.
Result<void> drop_rescued(const Workspace& workspace, const std::string& name);

/// One line for each transaction that a crash interrupted: whether it was finished or taken back,
/// or would be in a dry run, and how many paths that took. Nothing for what was complete already.
[[nodiscard]] std::vector<std::string> repairs_of(const RecoveryReport& report, bool dry_run);

}  // namespace galley
