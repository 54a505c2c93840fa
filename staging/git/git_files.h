#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// White space in a line of a file of git.
inline constexpr std::string_view kGitFileSpaces = " \t\r";

/// The places of git's own files for one workspace.
struct GitPlaces {
  std::string work_tree;
  std::string own;     ///< the git directory of this work tree: it has the index
  std::string common;  ///< the git directory that worktrees share
};

/// The last value of a variable of a section, `core` say, in the text of a git configuration,
/// without its quotes; nothing when it is not there. Both names are in lower case.
[[nodiscard]] std::optional<std::string> git_value_in(std::string_view git_config,
                                                      std::string_view section,
                                                      std::string_view name);

/// Reads what git reads around a workspace, without libgit2.
///
/// Only a `.git`, a configuration and the files that it names count that belong to this user, to
/// root or to the workspace's owner; each must be a regular file of a bounded size. Included
/// configurations are not followed.
class GitFiles {
 public:
  GitFiles(std::string workspace, uint32_t owner)
      : workspace_(std::move(workspace)), owner_(owner) {}

  /// The work tree nearest to the workspace.
  [[nodiscard]] std::optional<GitPlaces> find() const;
  /// The value of a variable of `[core]` that counts there.
  [[nodiscard]] std::optional<std::string> core_value(const GitPlaces& places,
                                                      std::string_view lower_case_name) const;
  /// The text of the file that a variable of `[core]` names, or of `default_name` in the user's
  /// folder of git configuration; empty when there is none.
  [[nodiscard]] std::string core_file(const GitPlaces& places, std::string_view lower_case_name,
                                      const std::string& default_name, uint64_t max_bytes) const;
  /// A configuration with name and email of this user's own one, and nothing else of it; empty when
  /// it has neither.
  [[nodiscard]] std::string identity() const;
  /// The folder of the repository that the workspace is a linked work tree of (git-worktree(1)),
  /// links resolved; empty for another one. The repository has to name the workspace in turn: a
  /// `.git` file alone, which may have come with an archive, shows nothing of a repository
  /// elsewhere.
  [[nodiscard]] std::string shared_by_work_trees() const;
  /// The text of a file; empty when it is not there or not to be believed.
  [[nodiscard]] std::string text_of(const std::string& path, uint64_t max_bytes) const;

 private:
  [[nodiscard]] std::optional<std::string> git_directory(const std::string& folder) const;
  [[nodiscard]] std::string common_directory(const std::string& git) const;

  std::string workspace_;
  uint32_t owner_;
};

}  // namespace galley
