#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/hook_script.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"

namespace galley {

/// The action on one hook file.
enum class HookStep : uint8_t {
  kWrite,         ///< the hook does not exist yet
  kWriteAndKeep,  ///< the existing hook is kept next to it and runs first
  kRenew,         ///< another version of Galley wrote the existing one
  kNothing,       ///< it is already correct
  kRemove,
  kRestore,  ///< the kept hook gets its old place back
};

struct HookChange {
  std::string hook;
  HookStep step = HookStep::kNothing;
  /// Galley's hook is NAME.legacy, which pre-commit (the framework) keeps and runs.
  bool is_legacy = false;
};

/// Installs and removes hook files in one directory of hooks.
///
/// Each hook changes in one rename: if the process is killed, the name has the old hook or the new
/// one, and another run completes the change. A hook that Galley did not write is never changed. It
/// is kept next to the new one under earlier_hook_name(), as the same inode with the same mode.
///
/// Ownership: borrows the directory.
/// Errors:    kRefused `hook.changed` for a hook that Galley wrote and that was changed since,
///            `hook.kept_exists` when another file has the name of the kept hook,
///            `hook.no_file` when the hook is a directory or something else that git cannot run;
///            kIo.
class HookFiles {
 public:
  explicit HookFiles(const WritableDirectory& directory) : directory_(&directory) {}

  /// The changes that install() would make, planned completely before the first one is made.
  [[nodiscard]] Result<std::vector<HookChange>> plan_install(
      const std::vector<const HookKind*>& kinds) const;
  [[nodiscard]] Result<std::vector<HookChange>> plan_uninstall(
      const std::vector<const HookKind*>& kinds) const;
  /// Makes the planned changes.
  Result<void> carry_out(const std::vector<HookChange>& changes) const;
  /// Whether the directory still keeps a hook that Galley did not write.
  [[nodiscard]] Result<bool> keeps_any() const;

 private:
  struct Found;
  [[nodiscard]] Result<Found> look_at(const HookKind& kind) const;
  Result<void> keep(const std::string& hook) const;
  Result<void> remove(const RelPath& name) const;
  Result<void> write(const HookChange& change) const;
  const WritableDirectory* directory_;
};

inline constexpr uint64_t kMaxHookScriptBytes = uint64_t{64} << 10U;  ///< a hook that is read

/// The folder in which git looks for the hooks of a repository.
struct HookPlace {
  /// The scope of core.hooksPath, if it is set.
  enum class Reach : uint8_t {
    kRepository,  ///< this repository with its worktrees
    kUser,        ///< every repository of the user, or of the machine
    kLink,        ///< every repository that uses the outside directory to which the link leads
  };
  std::string directory;  ///< absolute; may be missing
  std::string leads_to;   ///< the real path if `directory` is a link; else empty
  Reach reach = Reach::kRepository;
  std::string usual_directory;  ///< where git looks without core.hooksPath
  bool is_bare = false;
  bool is_in_work_tree = false;  ///< core.hooksPath names files that git may track
  bool is_of_husky = false;      ///< a directory that husky rewrites at each installation
  std::vector<std::string> lefthook_files;  ///< its configuration in the work tree
};

/// Finds the folder as git does: core.hooksPath, else `hooks` in the directory that worktrees
/// share.
/// Errors: those of GitProgram.
[[nodiscard]] Result<HookPlace> hook_place(const GitProgram& git);

/// Hook files of Galley that git does not run, because another program put its own in their place
/// later. Hooks that this program calls are not listed, and of husky only those for which
/// `galley hook install` shows lines.
struct IdleHooks {
  std::vector<std::string> outside;  ///< in git's own folder, since core.hooksPath is another
  std::vector<std::string> moved;    ///< lefthook moved them to NAME.old
  HookPlace place;                   ///< where git looks for hooks now
};

/// Errors: those of GitProgram.
[[nodiscard]] Result<IdleHooks> idle_hooks(const GitProgram& git);

}  // namespace galley
