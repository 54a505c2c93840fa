#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace galley {

/// White space within a line of git's own files.
inline constexpr std::string_view kGitFileSpaces = " \t\r";

/// The directories of git's own files for one workspace.
struct GitPlaces {
  std::string work_tree;
  std::string own;     ///< the git directory of this work tree, with the index
  std::string common;  ///< the git directory that all work trees share
};

/// The last value of a variable in a section (for example `core`) of a git configuration, without
/// quotes; nothing if it is not set. Both names must be in lower case.
[[nodiscard]] std::optional<std::string> git_value_in(std::string_view git_config,
                                                      std::string_view section,
                                                      std::string_view name);

/// Reads git's own files for a workspace, without libgit2.
///
/// A `.git`, a configuration or a file that these name is used only if it belongs to this user, to
/// root or to the workspace's owner. It must be a regular file of limited size. Included
/// configurations are not read.
class GitFiles {
 public:
  GitFiles(std::string workspace, uint32_t owner)
      : workspace_(std::move(workspace)), owner_(owner) {}

  /// Finds the innermost work tree that contains the workspace.
  [[nodiscard]] std::optional<GitPlaces> find() const;
  /// The effective value of a variable of `[core]` in the repository; nothing if it is not set.
  [[nodiscard]] std::optional<std::string> core_value(const GitPlaces& places,
                                                      std::string_view lower_case_name) const;
  /// The text of the file that a variable of `[core]` names. If it is not set, the text of
  /// `default_name` in the user's folder of git configuration. Empty if the file does not exist.
  [[nodiscard]] std::string core_file(const GitPlaces& places, std::string_view lower_case_name,
                                      const std::string& default_name, uint64_t max_bytes) const;
  /// A git configuration with only the name and email from this user's configuration; empty if it
  /// has neither.
  [[nodiscard]] std::string identity() const;
  /// The directory of the repository, with links resolved, if the workspace is a linked work tree
  /// of it (git-worktree(1)) or its `core.worktree`, as in a submodule; otherwise empty. The
  /// repository must refer back to the workspace: a `.git` file alone may come from an archive,
  /// and must not reveal a repository elsewhere.
  [[nodiscard]] std::string repository_elsewhere() const;
  /// The text of a file; empty if it does not exist or its owner is not trusted.
  [[nodiscard]] std::string text_of(const std::string& path, uint64_t max_bytes) const;

 private:
  [[nodiscard]] std::optional<std::string> git_directory(const std::string& folder) const;
  [[nodiscard]] std::string common_directory(const std::string& git) const;

  std::string workspace_;
  uint32_t owner_;
};

}  // namespace galley
