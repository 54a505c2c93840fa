#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/commit/commit_link_file.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// Records in the file of links, and in the audit log, that a git commit contains the contents of
/// these transactions. An existing pair is not recorded again.
/// Errors: kRefused `state.not_believed`; kTimeout `commit.locked`; kIo.
Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions);

}  // namespace galley
