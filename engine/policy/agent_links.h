#pragma once

#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// The paths that the configuration of agents at the root of the workspace really has, where it is
/// a link, or a folder with links: `.claude -> shared` gives `shared`. Links that leave the
/// workspace, and what is below nested folders, are left out.
/// Errors: as Directory's; none for what does not exist.
[[nodiscard]] Result<std::vector<RelPath>> targets_of_agent_links(const Directory& workspace,
                                                                  const std::string& root_path);

}  // namespace galley
