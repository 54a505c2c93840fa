#pragma once

#include <string>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// Where git looks for the hooks of a repository.
struct HookPlace {
  /// How far core.hooksPath reaches, where it is set.
  enum class Reach : uint8_t {
    kRepository,  ///< this repository with its worktrees
    kUser,        ///< every repository of the user, or of the machine
    kLink,        ///< whatever else leads to the directory outside that the link here leads to
  };
  std::string directory;  ///< absolute; it may be missing
  std::string leads_to;   ///< where files in it really are, when it is a link; else empty
  Reach reach = Reach::kRepository;
  bool is_bare = false;
  bool is_in_work_tree = false;  ///< core.hooksPath leads to files that git may track
  bool is_of_husky = false;      ///< a directory that husky writes anew at each installation
};

/// As git itself finds it: core.hooksPath, else `hooks` of the directory that worktrees share.
/// Errors: those of GitProgram.
[[nodiscard]] Result<HookPlace> hook_place(const GitProgram& git);

}  // namespace galley
