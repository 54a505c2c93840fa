#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "tools/tool.h"

namespace galley {

/// The name under which a transaction finds that a commit of git was asked for.
inline constexpr std::string_view kGitCommitTool = "git_commit";

/// `git_commit {message}`: asks for a commit of git of what the transaction changes.
///
/// The call stages nothing: `.git` is written only after the transaction's own commit, by
/// commit_to_git(), and not at all when that is refused. It needs `git:commit` and is of tier 3.
/// `root_path` is the absolute path of the workspace.
/// Errors of a call: ERUNTIME `git.no_repository`, `git.program_missing`.
[[nodiscard]] std::unique_ptr<const Tool> make_git_commit(std::string root_path);

/// Makes one commit of git on HEAD out of changes that the workspace has on disk by now; other
/// changes of index and work tree stay as they are. Returns its hash.
///
/// Nothing that the repository configures runs: no hook, no filter, no signing program. Contents
/// are stored as git would add them, so a path with a filter (`git-lfs`) is refused.
/// Errors: kRefused `git.filtered_path`, `git.index_locked`; kNotFound `git.nothing_to_commit`; as
///         GitProgram.
Result<std::string> commit_to_git(const std::string& root_path, const std::string& message,
                                  const ChangeSet& changes);

}  // namespace galley
