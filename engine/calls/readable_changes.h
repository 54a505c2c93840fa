#pragma once

#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "engine/policy/policy.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// What of a proposal may be shown to somebody, and the paths that were left out.
struct ReadablePart {
  Proposal proposal;
  std::vector<RelPath> left_out;
};

/// Whether the agent may be shown what a file holds: `fs:read` of its profile, if it has one.
[[nodiscard]] bool may_show(const Policy& policy, const RelPath& path, std::string_view agent);

/// Leaves out every file that the agent may not read, and every file whose content came from one.
[[nodiscard]] ReadablePart readable_part(const Proposal& proposal, const Policy& policy,
                                         std::string_view agent);

}  // namespace galley
