#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The directory of the workspace `root` that the command was started in; the root when it lies
/// elsewhere.
Result<RelPath> current_place(const std::string& root);

/// The path that a person at the command line means, who stands in `here`: relative to it as git
/// has it, with `.` and `..`; `:/name` from the root; or absolute, inside `root`. The root itself
/// is a path too.
/// Errors: kRefused `path.outside`; what RelPath::parse says.
Result<RelPath> named_path(std::string_view name, const RelPath& here, std::string_view root);

/// The part of a proposal that lies at or below one of these paths; all of it for no path.
[[nodiscard]] Proposal part_below(const Proposal& proposal, const std::vector<RelPath>& paths);

}  // namespace galley
