#pragma once

#include <git2.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// libgit2's functions, looked up in the shared object when something first needs git: the only
/// file that includes git2.h, and no header outside staging/git includes this one.
///
/// Starting libgit2 costs ten times the start of Galley itself, so nothing links against it
/// (docs/adr/0003).
///
/// Threads: get() may be called from any thread; the table never changes after it.
struct GitLibrary {
  /// The loaded and initialised library.
  /// Errors: kNotFound `git.library_missing`, naming what was tried.
  [[nodiscard]] static Result<const GitLibrary*> get();

  /// What libgit2 says about the call that just failed with `code`, as an Error naming `subject`.
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

}  // namespace galley
