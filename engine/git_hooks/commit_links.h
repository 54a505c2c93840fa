#pragma once

#include <map>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// The commits of git that hold what a transaction wrote: ids in hexadecimal, oldest first.
using CommitLinks = std::map<TxId, std::vector<std::string>>;

/// Notes in `.galley/links/<workspace id>/git-commits`, and in the audit log, that a commit of git
/// holds what these transactions wrote. A pair that is noted already is not noted again.
/// Errors: kRefused `state.not_believed`; kTimeout `commit.locked`; kIo.
Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions);

/// All that is noted; a line that is damaged is passed over.
[[nodiscard]] Result<CommitLinks> read_commit_links(const StateDirectory& state);

/// Beyond it the older half is dropped.
inline constexpr uint64_t kMaxCommitLinkBytes = uint64_t{8} << 20U;

}  // namespace galley
