#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "engine/history/history.h"
#include "staging/fs/directory.h"

namespace galley {

/// Takes one line of an export, without its newline.
using LineSink = std::function<void(std::string_view)>;

/// Writes the audit log in aiOS's format: one JSON object per line with `execution_id`,
/// `timestamp`, `tool`, `agent`, `task_id`, `goal_id`, `input`, `output`, `reason`, `duration_ms`,
/// `risk_level`, `backup_path` and `capabilities_used`. Every line has all of them. `backup_path`
/// names the journal with the contents that a commit displaced; for a call, the journal of the
/// commit that includes it. It is empty when nothing was displaced, or not yet.
///
/// Errors: kInvalid `audit.malformed` for a line that is not a record; verify the log first.
Result<void> export_aios(const Directory& state_root, const LineSink& sink);

/// Writes the history, oldest first, as Agent Trace 0.1.0 (agent-trace.dev). Each transaction has
/// one record with the lines that it added to each file; their numbers are those at its commit. A
/// transaction without an agent's name has contributor `unknown`.
Result<void> export_agent_trace(const History& history, std::string_view tool_version,
                                const LineSink& sink);

}  // namespace galley
