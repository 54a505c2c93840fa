#pragma once

#include <git2.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/rel_path.h"
#include "base/result.h"

namespace galley {

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

  /// Whether the index has an entry below this workspace path.
  Result<bool> tracks_below(const RelPath& path) const;

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
  decltype(&::git_index_find_prefix) index_find_prefix = nullptr;
  decltype(&::git_patch_from_buffers) patch_from_buffers = nullptr;
  decltype(&::git_patch_to_buf) patch_to_buf = nullptr;
  decltype(&::git_patch_free) patch_free = nullptr;
};

/// The diff of two texts by libgit2 (xdiff, Myers): the reference of bench/diff_bench. Galley
/// itself never prints it.
Result<std::string> libgit2_diff(std::string_view before, std::string_view after,
                                 const std::string& path);

}  // namespace galley
