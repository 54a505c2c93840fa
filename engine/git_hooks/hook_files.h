#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/hook_script.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"

namespace galley {

/// What is done to one hook file.
enum class HookStep : uint8_t {
  kWrite,         ///< there was none
  kWriteAndKeep,  ///< the one that is there is kept beside and runs first
  kRenew,         ///< another version of Galley wrote the one that is there
  kNothing,       ///< it is as it should be
  kRemove,
  kRestore,  ///< the kept one takes its old place
};

struct HookChange {
  std::string hook;
  HookStep step = HookStep::kNothing;
};

/// Installing and removing hook files in one directory of hooks.
///
/// Each hook changes in one rename: whenever the process ends, the name holds the old hook or the
/// new one, and both when it is run again to its end. A hook that Galley did not write is never
/// changed: it is kept beside under kept_hook_name(), the same inode with the same mode.
///
/// Ownership: borrows the directory.
/// Errors:    kRefused `hook.changed` for one that Galley wrote and somebody changed since,
///            `hook.kept_exists` when the name beside is taken by something else,
///            `hook.no_file` when the hook is a directory or something else that git cannot run;
///            kIo.
class HookFiles {
 public:
  explicit HookFiles(const WritableDirectory& directory) : directory_(&directory) {}

  /// What install() would do, of all of them before any is done.
  [[nodiscard]] Result<std::vector<HookChange>> plan_install(
      const std::vector<const HookKind*>& kinds) const;
  [[nodiscard]] Result<std::vector<HookChange>> plan_uninstall(
      const std::vector<const HookKind*>& kinds) const;
  /// Does what one of them planned.
  Result<void> carry_out(const std::vector<HookChange>& changes) const;
  /// Whether a hook that Galley did not write is still kept beside.
  [[nodiscard]] Result<bool> keeps_any() const;

 private:
  struct Found;
  [[nodiscard]] Result<Found> look_at(const HookKind& kind) const;
  Result<void> write(const HookChange& change) const;
  const WritableDirectory* directory_;
};

inline constexpr uint64_t kMaxHookScriptBytes = uint64_t{64} << 10U;

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
