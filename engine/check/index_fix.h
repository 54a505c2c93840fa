#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/journal.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/git/git_program.h"
#include "staging/overlay/change_set.h"

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
  std::vector<RelPath> staged;    ///< in the index now
  std::vector<RelPath> followed;  ///< paths of `staged` whose file in the work tree is fixed, too
  std::vector<RelPath> filtered;  ///< paths of `staged` whose file is unchanged, because git writes
                                  ///< it through a filter, which is not run
  /// The paths of `staged` that are not in `followed`, with the cause.
  std::map<RelPath, std::string> unreplaced = {};
  /// Failures after the index was replaced, and hard links that were broken.
  std::vector<std::string> warnings = {};
};

/// Writes `change` to the index under git's own index.lock: all of it or nothing. Its base is the
/// present contents of the index. A file of the work tree that git considers equal to the index
/// gets the new content too, as git would write it. The fix is merged into a file with changes of
/// other lines. Nothing else is written.
///
///     new files are in .galley -> journal -> index.lock is made -> a copy of the index is changed
///     -> it becomes the index -> each file is exchanged -> index.lock, journal, files are removed
///
/// If the process is killed in between, finish_index_fix() completes all of it or none.
///
/// `git commit PATH` gives its hooks a separate index. Afterwards it replaces the real index by the
/// index.lock that it holds. In this case both are changed.
///
/// Errors: kRefused `git.index_locked`; kConflict `check.index_changed` when another program
///         changed the index meanwhile; kTimeout `commit.locked`. After an error the index is
///         unchanged. Once it is replaced, a failure is one of the warnings.
Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change, const FixPlaces& places);

/// Finishes an interrupted fix. The files of the work tree get the contents that the index has, old
/// or new. Everything else of the fix is removed. A file that was changed since, or that cannot be
/// replaced by its fixed bytes, is left alone.
/// Returns the notice for people; nullopt if there was no interrupted fix.
/// Errors: kTimeout `commit.locked` while a fix is running; kIo.
Result<std::optional<std::string>> finish_index_fix(const GitProgram& git, const FixPlaces& places);

/// Does the same for the work tree of a repository. The next command that opens it calls this. It
/// runs git only if there is an interrupted fix.
Result<std::optional<std::string>> finish_interrupted_fix(const std::string& work_tree,
                                                          const StateDirectory& state,
                                                          const Clock& clock);

/// A file of the work tree that follows the index.
struct FileFix {
  RelPath path = RelPath::root();
  std::string held;        ///< its bytes when it was read
  std::string fixed;       ///< the bytes that it gets
  JournalSide kept;        ///< the properties that the new file takes over
  bool has_links = false;  ///< hard links, which keep the old bytes
};

/// If the file still has the old bytes, exchanges it for the one in `slots`, which has the fixed
/// bytes. Returns why it was left alone; empty if it was exchanged. Bytes that another program
/// writes meanwhile go back into the file. If a second program writes too, its bytes are kept in a
/// new file in the same folder.
/// Errors: kConflict `check.file_changed`, which names that file; kIo.
Result<std::string> follow_index(const WritableDirectory& work_tree, const FileFix& fix,
                                 const WritableDirectory& slots, const RelPath& slot);

}  // namespace galley
