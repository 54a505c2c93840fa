#pragma once

#include "engine/audit/recorder.h"
#include "engine/calls/confirmation.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Who answers for the calls of one transaction, and where a yes given beforehand is kept. All that
/// is named here is borrowed.
[[nodiscard]] ConfirmationDesk confirmation_desk(WorkspaceState& workspace,
                                                 const TransactionOptions& who,
                                                 const CallOptions& call, Recorder& recorder);

}  // namespace galley
