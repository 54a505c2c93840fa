#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/ref_updates.h"
#include "engine/stages/run_commits.h"
#include "staging/git/git_program.h"

namespace galley {

/// Git commits that the runs of a transaction made and that the repository does not have. `ref` is
/// the reference of the run that leads to them.
struct RunHistory {
  struct Commit {
    std::string id;
    std::string subject;  ///< as git has it: any bytes without a newline
  };
  RunRef ref;
  std::vector<Commit> newest;  ///< newest first, at most kListed
  uint64_t count = 0;          ///< 0: a new tag on an earlier commit

  static constexpr size_t kListed = 10;
};

/// The git repository of a workspace, with the objects that the runs of a transaction made.
///
/// The objects of a run are untrusted, like the objects of a fetch. They enter the repository only
/// through `git index-pack --strict`, which checks each name and each link.
///
/// Errors: those of GitProgram.
class RunRepository {
 public:
  /// `objects` is the absolute path of `git/objects` in the stage.
  RunRepository(GitProgram git, const std::string& objects)
      : git_(std::move(git)), with_run_(git_.with_objects(objects)) {}

  /// Returns the new commits of each reference. A reference is left out if it leads to no new
  /// commit and is not a new annotated tag.
  Result<std::vector<RunHistory>> history(const std::vector<RunRef>& refs) const;

  /// Whether a run that ended on this branch or commit worked on commits that the repository has
  /// and that are not in its own HEAD: their files are then among the changes of the run.
  Result<bool> is_elsewhere(const RunRef& head) const;

  /// The branch that the work tree has checked out; empty if its HEAD is detached.
  Result<std::string> checked_out() const;

  /// Copies the objects of these commits into the repository. No reference names them yet.
  Result<void> copy(const std::vector<RunHistory>& commits) const;

  /// Checks that the repository of each submodule has the commits that these commits name. A run's
  /// own commits in a submodule are dropped, so commits that name them could not be checked out.
  /// The objects were copied before.
  /// Errors: kRefused `git.submodule_commit`.
  [[nodiscard]] Result<void> check_submodules(const RunHistory& commits) const;

  /// Returns the update of the reference that will keep these commits. It has the same name if that
  /// reference is new, or is a branch that is still where the run found it, that only moves forward
  /// and that no other work tree has checked out; else it is `refs/galley/TX/NAME`. So it is for a
  /// branch that `git branch` would refuse to make.
  Result<RefUpdate> update_for(const RunHistory& commits, const std::string& tx) const;

  /// Whether they are on top of a commit to which their branch moved after the run began. The run
  /// may have made them with an older index, and they then take that commit back.
  [[nodiscard]] Result<bool> may_revert(const RunHistory& commits) const;

  /// The update of `refs/galley/TX/NAME`.
  Result<RefUpdate> update_aside(const RunHistory& commits, const std::string& tx) const;

  /// Moves the reference if it still has the old id of the update. If it is the checked-out branch,
  /// the index is updated too. A merge, cherry-pick or revert that the new commits finish is ended
  /// there, too.
  /// Errors: kRefused `git.index_locked`, and `git.index_differs` if the index has other changes of
  ///         the same files; then neither the reference nor the index has changed.
  [[nodiscard]] Result<void> move(const RefUpdate& update) const;

 private:
  [[nodiscard]] Result<bool> is_new_tag(const RunRef& ref) const;
  Result<std::string> id_of(const std::string& name) const;
  /// Whether the commits of an update finish what one of git's commands began: `merge`,
  /// `cherry-pick` or `revert`.
  Result<bool> finishes(const RefUpdate& update, const std::string& command) const;
  /// Updates the index, or only tries it with `-n`. Waits a moment for another git to unlock it.
  /// Returns false if the index has other changes.
  Result<bool> read_tree(const RefUpdate& update, std::vector<std::string> options) const;
  Result<bool> is_in_other_work_tree(const std::string& branch) const;

  GitProgram git_;
  GitProgram with_run_;
};

}  // namespace galley
