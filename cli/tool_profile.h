#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "tools/profiles.h"

namespace galley {

/// The profile of tools that --profile names, else that of --agent in galley.toml; null: none.
/// Errors: as profile_named().
Result<const ToolProfile*> chosen_profile(const Session& session, const Workspace& workspace);

}  // namespace galley
