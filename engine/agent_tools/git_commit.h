#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "tools/tool.h"

namespace galley {

/// The tool name by which a transaction recognises that a git commit was requested.
inline constexpr std::string_view kGitCommitTool = "git_commit";

/// `git_commit {message}`: requests a git commit of the transaction's changes.
///
/// The call stages nothing: commit_to_git() writes `.git` only after the transaction's own commit,
/// and never if that is refused. It needs the capability `git:commit` and belongs to tier 3.
/// `root_path` is the absolute path of the workspace.
/// Errors of a call: ERUNTIME `git.no_repository`, `git.program_missing`.
[[nodiscard]] std::unique_ptr<const Tool> make_git_commit(std::string root_path);

/// Makes one git commit on HEAD from changes that are already on disk in the workspace, and returns
/// its hash. Other changes in the index and the work tree stay as they are.
///
/// It runs no program that the repository configures: no hook, filter or signing program. Contents
/// are stored as `git add` would store them, so a path with a filter (`git-lfs`) is refused.
/// Errors: kRefused `git.filtered_path`, `git.index_locked`; kNotFound `git.nothing_to_commit`; as
///         GitProgram.
Result<std::string> commit_to_git(const std::string& root_path, const std::string& message,
                                  const ChangeSet& changes);

}  // namespace galley
