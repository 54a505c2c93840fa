#pragma once

#include <git2.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

/// The entry of git's index or of a commit's tree at one path.
struct GitEntry {
  uint32_t mode = 0;  ///< git mode: 0100644, 0100755, 0120000, 0160000
  GitOid blob;

  bool operator==(const GitEntry&) const = default;
};

/// The git repository that contains a workspace, only for reading.
///
/// The first call of discover() loads libgit2 (docs/adr/0003).
///
/// Ownership: owns its handle; the library stays loaded until the process ends.
/// Threads:   confined to one thread; different repositories may be used at the same time.
/// Errors:    kNotFound `git.library_missing`; kRefused `git.other_owner`,
///            `git.unsupported_extension`; kIo `git.failed` with libgit2's own message.
class GitRepository {
 public:
  /// Finds the repository whose work tree contains `workspace_root` (absolute), if there is one.
  static Result<std::optional<GitRepository>> discover(const std::string& workspace_root);

  GitRepository(GitRepository&&) noexcept;
  GitRepository& operator=(GitRepository&&) noexcept;
  ~GitRepository();

  /// The root of the work tree, absolute, without a trailing slash.
  [[nodiscard]] const std::string& work_tree() const { return work_tree_; }
  /// The `.git` directory, absolute, without a trailing slash.
  [[nodiscard]] const std::string& git_directory() const { return git_directory_; }

  /// The index entry (stage 0) of a workspace path; none if it is not tracked.
  Result<std::optional<GitEntry>> index_entry(const RelPath& path) const;
  /// Whether the index has an entry below this workspace path.
  Result<bool> tracks_below(const RelPath& path) const;
  /// The entry of a workspace path in HEAD's tree, if it has one.
  Result<std::optional<GitEntry>> head_entry(const RelPath& path) const;
  /// The stored bytes of a blob, without conversion of line endings.
  Result<std::string> blob(const GitOid& id) const;
  /// The commit that HEAD names; none in a repository without commits.
  Result<std::optional<GitOid>> head_commit() const;

 private:
  struct Handle;
  explicit GitRepository(std::unique_ptr<Handle> handle);
  [[nodiscard]] std::string in_work_tree(const RelPath& path) const;

  std::unique_ptr<Handle> handle_;
  std::string work_tree_;
  std::string git_directory_;
  std::string prefix_;  // path of the workspace in the work tree: empty or "dir/"
};

/// libgit2's functions, looked up in the shared library when they are first needed. Only this file
/// includes git2.h, and no header outside staging/git includes this file.
///
/// To load libgit2 takes ten times as long as to start Galley, so Galley does not link to it
/// (docs/adr/0003).
///
/// Threads: get() may be called from any thread. The table never changes afterwards.
struct GitLibrary {
  /// Loads and initialises the library at the first call, and returns it.
  /// Errors: kNotFound `git.library_missing`; the message names the files that were tried.
  [[nodiscard]] static Result<const GitLibrary*> get();

  /// An Error with libgit2's message for the call that just failed with `code`. It names `subject`.
  [[nodiscard]] Error error(int code, std::string_view action, std::string_view subject) const;

  decltype(&::git_libgit2_init) libgit2_init = nullptr;
  decltype(&::git_libgit2_opts) libgit2_opts = nullptr;
  decltype(&::git_error_last) error_last = nullptr;
  decltype(&::git_buf_dispose) buf_dispose = nullptr;
  decltype(&::git_repository_discover) repository_discover = nullptr;
  decltype(&::git_repository_open) repository_open = nullptr;
  decltype(&::git_repository_free) repository_free = nullptr;
  decltype(&::git_repository_workdir) repository_workdir = nullptr;
  decltype(&::git_repository_path) repository_path = nullptr;
  decltype(&::git_repository_index) repository_index = nullptr;
  decltype(&::git_index_read) index_read = nullptr;
  decltype(&::git_index_free) index_free = nullptr;
  decltype(&::git_index_get_bypath) index_get_bypath = nullptr;
  decltype(&::git_index_find_prefix) index_find_prefix = nullptr;
  decltype(&::git_blob_lookup) blob_lookup = nullptr;
  decltype(&::git_blob_rawcontent) blob_rawcontent = nullptr;
  decltype(&::git_blob_rawsize) blob_rawsize = nullptr;
  decltype(&::git_blob_free) blob_free = nullptr;
  decltype(&::git_reference_name_to_id) reference_name_to_id = nullptr;
  decltype(&::git_commit_lookup) commit_lookup = nullptr;
  decltype(&::git_commit_tree) commit_tree = nullptr;
  decltype(&::git_commit_free) commit_free = nullptr;
  decltype(&::git_tree_entry_bypath) tree_entry_bypath = nullptr;
  decltype(&::git_tree_entry_id) tree_entry_id = nullptr;
  decltype(&::git_tree_entry_filemode) tree_entry_filemode = nullptr;
  decltype(&::git_tree_entry_free) tree_entry_free = nullptr;
  decltype(&::git_tree_free) tree_free = nullptr;
  decltype(&::git_patch_from_buffers) patch_from_buffers = nullptr;
  decltype(&::git_patch_to_buf) patch_to_buf = nullptr;
  decltype(&::git_patch_free) patch_free = nullptr;
};

/// The diff of two texts by libgit2 (xdiff, Myers): the reference of bench/diff_bench. Galley
/// itself never prints it.
Result<std::string> libgit2_diff(std::string_view before, std::string_view after,
                                 const std::string& path);

}  // namespace galley
