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
  /// Opens a folder of git; replaced in tests.
  std::function<Result<std::unique_ptr<WritableDirectory>>(const std::string&)> open =
      [](const std::string& path) { return open_writable_disk_directory(path); };
};

/// The result of putting fixes into the index.
struct IndexFix {
  std::vector<RelPath> staged;  ///< in the index now
  std::vector<RelPath>
      followed;  ///< of those: the file of the work tree was equal to it, and is again
  std::vector<RelPath> filtered;  ///< of those: a filter, which is not run, writes the file
};

/// Puts `change`, from the index's contents to their replacements, into the index, all of it or
/// nothing, under git's own index.lock. A file of the work tree that git considers equal to the
/// index gets the new content too, as git would write it. A file that differs is left alone.
/// Nothing else is written.
///
///     new files are in .galley -> journal -> index.lock is made -> a copy of the index is changed
///     -> it becomes the index -> each file is exchanged -> index.lock, journal, files are removed
///
/// If the process is killed in between, finish_index_fix() completes all of it or none.
///
/// `git commit PATH` gives its hooks a separate index, and replaces the real one afterwards by the
/// index.lock that it holds: both are changed then.
///
/// Errors: kRefused `git.index_locked`; kConflict `check.index_changed` when the index has other
///         contents meanwhile; then the index is unchanged. kConflict `check.file_changed` names a
///         file that was written twice meanwhile; kTimeout `commit.locked`.
Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change, const FixPlaces& places);

/// Finishes an interrupted fix. The files of the work tree get the old or the new contents,
/// whichever the index has, and everything else of the fix is removed. Returns whether there was
/// one. A file that was changed since is left alone.
/// Errors: kTimeout `commit.locked` while a fix is running; kIo.
Result<bool> finish_index_fix(const GitProgram& git, const FixPlaces& places);

/// The same for the work tree of a repository, called by the next command that opens it; runs git
/// only if there is an interrupted fix.
Result<bool> finish_interrupted_fix(const std::string& work_tree, const StateDirectory& state,
                                    const Clock& clock);
/// The notice for people.
inline constexpr std::string_view kInterruptedFixNotice =
    "a fix of the index that was ended halfway is finished: the index and the files of the work "
    "tree agree again";

/// A file of the work tree that follows the index.
struct FileFix {
  RelPath path = RelPath::root();
  std::string held;   ///< its bytes when it was read
  std::string fixed;  ///< the bytes that it gets
  uint32_t mode = 0;
};

/// If the file still has the old bytes, exchanges it for the one in `slots`, which has the fixed
/// bytes. Returns whether it did. Bytes that another program writes meanwhile go back into the
/// file. If a second program writes too, its bytes are kept in a new file in the same folder.
/// Errors: kConflict `check.file_changed`, which names that file; kIo.
Result<bool> follow_index(const WritableDirectory& work_tree, const FileFix& fix,
                          const WritableDirectory& slots, const RelPath& slot);

}  // namespace galley
