#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/git/git_program.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The places that a fix writes to. Ownership: borrows them.
struct FixPlaces {
  const WritableDirectory& work_tree;
  const StateDirectory& state;  ///< of the work tree
  const Clock& clock;
  /// Opens a folder of git's; for tests.
  std::function<Result<std::unique_ptr<WritableDirectory>>(const std::string&)> open =
      [](const std::string& path) { return open_writable_disk_directory(path); };
};

/// What became of fixes that were put into the index.
struct IndexFix {
  std::vector<RelPath> staged;  ///< in the index now
  std::vector<RelPath>
      followed;  ///< of those: the file of the work tree was the same, and is again
  std::vector<RelPath> filtered;  ///< of those: a filter, which is not run, makes the file
};

/// Puts `change`, from what is in the index to what is to be there, into the index, all of it or
/// nothing, under git's own index.lock. A file of the work tree that git holds for the same as what
/// the index held gets the new content as well, as git would write it; one that differs is left
/// alone. Nothing else is written.
///
///     new files are in .galley -> journal -> index.lock is made -> a copy of the index is changed
///     -> it becomes the index -> each file is exchanged -> index.lock, journal and files go
///
/// If the process is killed on the way, finish_index_fix() completes all of it or none.
///
/// `git commit PATH` gives its hooks an index of its own and replaces the real one afterwards by
/// the index.lock that it holds: both are changed then.
///
/// Errors: kRefused `git.index_locked`; kConflict `check.index_changed` when the index holds other
///         contents by now. The index is then as it was. kConflict `check.file_changed` names a
///         file that was written twice meanwhile; kTimeout `commit.locked`.
Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change, const FixPlaces& places);

/// Finishes what a fix that was ended halfway began: the files of the work tree follow the index,
/// whichever of its contents it holds, and nothing of the fix is left. Returns whether there was
/// one. A file that was changed since is left alone.
/// Errors: kTimeout `commit.locked` while one is at work; kIo.
Result<bool> finish_index_fix(const GitProgram& git, const FixPlaces& places);

/// The same at the work tree of a repository, for whatever opens it next; without a look at git
/// where no fix was ended halfway.
Result<bool> finish_dead_fix(const std::string& work_tree, const StateDirectory& state,
                             const Clock& clock);
/// The notice for people.
inline constexpr std::string_view kDeadFixNotice =
    "a fix of the index that was ended halfway is finished: the index and the files of the work "
    "tree agree again";

/// A file of the work tree that follows the index.
struct FileFix {
  RelPath path = RelPath::root();
  std::string held;   ///< its bytes when it was looked at
  std::string fixed;  ///< what it gets
  uint32_t mode = 0;
};

/// Exchanges the file for the one in `slots`, which has the fixed bytes, if it still holds the
/// other ones, and returns whether it did. Bytes that another program writes meanwhile are not
/// lost: they go back into the file, and those of a second one are kept in a file next to it.
/// Errors: kConflict `check.file_changed`, which names that file; kIo.
Result<bool> follow_index(const WritableDirectory& work_tree, const FileFix& fix,
                          const WritableDirectory& slots, const RelPath& slot);

}  // namespace galley
