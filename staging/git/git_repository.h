#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/git_oid.h"
#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// What git's index or a commit's tree holds at one path.
struct GitEntry {
  uint32_t mode = 0;  ///< git mode: 0100644, 0100755, 0120000, 0160000
  GitOid blob;

  bool operator==(const GitEntry&) const = default;
};

/// The git repository around a workspace, for reading only.
///
/// libgit2 is loaded when the first repository is looked for, never before (docs/adr/0003).
///
/// Ownership: owns its handle; the library stays loaded until the process ends.
/// Threads:   confined to one thread; distinct repositories may be used side by side.
/// Errors:    kNotFound `git.library_missing`; kRefused `git.other_owner`,
///            `git.unsupported_extension`; kIo `git.failed` with libgit2's own words.
class GitRepository {
 public:
  /// The repository whose work tree holds `workspace_root` (absolute), or none.
  static Result<std::optional<GitRepository>> discover(const std::string& workspace_root);

  GitRepository(GitRepository&&) noexcept;
  GitRepository& operator=(GitRepository&&) noexcept;
  ~GitRepository();

  /// Absolute, without a trailing slash.
  [[nodiscard]] const std::string& work_tree() const { return work_tree_; }
  /// The `.git` directory, absolute, without a trailing slash.
  [[nodiscard]] const std::string& git_directory() const { return git_directory_; }

  /// The index entry (stage 0) of a workspace path, or none when it is not tracked.
  Result<std::optional<GitEntry>> index_entry(const RelPath& path) const;
  /// Whether the index has an entry below this workspace path.
  Result<bool> tracks_below(const RelPath& path) const;
  /// The entry of a workspace path in HEAD's tree, or none.
  Result<std::optional<GitEntry>> head_entry(const RelPath& path) const;
  /// The bytes of a blob as they are stored: no line ending is converted.
  Result<std::string> blob(const GitOid& id) const;
  /// The commit that HEAD names, or none in a repository without commits.
  Result<std::optional<GitOid>> head_commit() const;

 private:
  struct Handle;
  explicit GitRepository(std::unique_ptr<Handle> handle);
  [[nodiscard]] std::string in_work_tree(const RelPath& path) const;

  std::unique_ptr<Handle> handle_;
  std::string work_tree_;
  std::string git_directory_;
  std::string prefix_;  // of the workspace within the work tree: empty or "dir/"
};

}  // namespace galley
