#pragma once

#include <map>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// The git commits that contain a transaction's contents: ids in hexadecimal, oldest first.
using CommitLinks = std::map<TxId, std::vector<std::string>>;

/// Records in `.galley/links/<workspace id>/git-commits`, and in the audit log, that a git commit
/// contains the contents of these transactions. An existing pair is not recorded again.
/// Errors: kRefused `state.not_believed`; kTimeout `commit.locked`; kIo.
Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions);

/// All recorded links; damaged lines are skipped.
[[nodiscard]] Result<CommitLinks> read_commit_links(const StateDirectory& state);

/// Above this size the older half is dropped.
inline constexpr uint64_t kMaxCommitLinkBytes = uint64_t{8} << 20U;

}  // namespace galley
