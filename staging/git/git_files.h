#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// White space within a line of git's own files.
inline constexpr std::string_view kGitFileSpaces = " \t\r";

/// The places of git's own files for one workspace.
struct GitPlaces {
  std::string work_tree;
  std::string own;     ///< the git directory of this work tree, with the index
  std::string common;  ///< the git directory that all work trees share
};

/// The last value of a variable in a section (for example `core`) of a git configuration, without
/// its quotes; nothing when it is not set. Both names are in lower case.
[[nodiscard]] std::optional<std::string> git_value_in(std::string_view git_config,
                                                      std::string_view section,
                                                      std::string_view name);

/// Reads git's own files for a workspace, without libgit2.
///
/// It uses a `.git`, a configuration and the files that these name only if they belong to this
/// user, to root or to the workspace's owner. Each must be a regular file of a bounded size.
/// Included configurations are not followed.
class GitFiles {
 public:
  GitFiles(std::string workspace, uint32_t owner)
      : workspace_(std::move(workspace)), owner_(owner) {}

  /// The work tree that contains the workspace; the innermost one.
  [[nodiscard]] std::optional<GitPlaces> find() const;
  /// The effective value of a variable of `[core]` in the repository.
  [[nodiscard]] std::optional<std::string> core_value(const GitPlaces& places,
                                                      std::string_view lower_case_name) const;
  /// The text of the file that a variable of `[core]` names, or of `default_name` in the user's
  /// folder of git configuration; empty when neither exists.
  [[nodiscard]] std::string core_file(const GitPlaces& places, std::string_view lower_case_name,
                                      const std::string& default_name, uint64_t max_bytes) const;
  /// A configuration with only the name and email from this user's own one; empty when it has
  /// neither.
  [[nodiscard]] std::string identity() const;
  /// The folder of the repository if the workspace is a linked work tree of it (git-worktree(1)),
  /// links resolved; else empty. The repository must name the workspace in turn: a `.git` file
  /// alone may have come with an archive, and must not reveal a repository elsewhere.
  [[nodiscard]] std::string shared_by_work_trees() const;
  /// The text of a file; empty when it does not exist or is not trusted.
  [[nodiscard]] std::string text_of(const std::string& path, uint64_t max_bytes) const;

 private:
  [[nodiscard]] std::optional<std::string> git_directory(const std::string& folder) const;
  [[nodiscard]] std::string common_directory(const std::string& git) const;

  std::string workspace_;
  uint32_t owner_;
};

}  // namespace galley
