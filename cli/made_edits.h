#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/agent_session.h"

namespace galley {

/// A session of an agent, with the workspace that it changes.
struct EditedWorkspace {
  Session& session;
  Workspace& workspace;
  const AgentSession& agent;
};

/// Records an edit that an agent made with its own tool, in the agent's name. Returns why it is not
/// on record; empty if it is, or if nothing was changed.
Result<std::string> record_edit(const EditedWorkspace& edited, const AgentSession::EditName& edit,
                                AgentSession::EditReport report);

enum class MissedEdits : uint8_t {
  kClear,  ///< only those that are exactly the judged ones: their agent may still make others
  kAll,    ///< the agent is treated as gone, so what cannot be recorded is lost
};

/// Records the edits that the agent made and did not report: it was stopped between.
Result<void> settle_edits(const EditedWorkspace& edited, MissedEdits which);

/// How many edits settle_edits() would find.
[[nodiscard]] size_t missed_edits(Workspace& workspace, const AgentSession& agent);

}  // namespace galley
