#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// Returns the directory of the workspace `root` in which the command was started, or the root if
/// it was started outside.
Result<RelPath> current_place(const std::string& root);

/// Parses a path of the command line. It is relative to `here`, with `.` and `..` as in git; or
/// `:/name` relative to the root; or absolute and inside `root`. It may be the root itself.
/// Errors: kRefused `path.outside`; those of RelPath::parse.
Result<RelPath> named_path(std::string_view told, const RelPath& here, std::string_view root);

/// Returns the part of a proposal at or below one of these paths; all of it if `paths` is empty.
[[nodiscard]] Proposal part_below(const Proposal& proposal, const std::vector<RelPath>& paths);

}  // namespace galley
