#pragma once

#include <galley/outcome.h>
#include <galley/proposal.h>
#include <galley/workspace.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/policy/config.h"

namespace galley {

/// An agent sees a part of changes (docs/policy.md). A caller without a name sees everything.

/// Returns the diff of a proposal. A line at its end names each file that the agent may not read.
/// Errors: those of render_diff().
[[nodiscard]] Result<std::string> diff_shown_to(std::string_view agent, const Workspace& workspace,
                                                const Proposal& proposal);

/// Removes the texts from a conflict in a file that the agent may not read.
void hide_unread_texts(std::string_view agent, const Config& config, Conflict::Path& path);

}  // namespace galley
