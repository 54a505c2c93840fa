#include "staging/git/peer_diff.h"

#include "staging/git/git_library.h"

namespace galley {

Result<std::string> libgit2_diff(std::string_view before, std::string_view after,
                                 const std::string& path) {
  GALLEY_ASSIGN(const GitLibrary* git, GitLibrary::get());
  git_patch* patch = nullptr;
  git_diff_options options{};
  options.version = GIT_DIFF_OPTIONS_VERSION;
  options.ignore_submodules = GIT_SUBMODULE_IGNORE_UNSPECIFIED;
  options.context_lines = 3;
  options.flags = GIT_DIFF_INDENT_HEURISTIC;  // git's default, and ours
  int code = git->patch_from_buffers(&patch, before.data(), before.size(), path.c_str(),
                                     after.data(), after.size(), path.c_str(), &options);
  if (code < 0) return fail(git->error(code, "compare", path));
  git_buf text{};
  code = git->patch_to_buf(&text, patch);
  git->patch_free(patch);
  if (code < 0) return fail(git->error(code, "print the diff of", path));
  std::string out(text.ptr, text.size);
  git->buf_dispose(&text);
  return out;
}

}  // namespace galley
