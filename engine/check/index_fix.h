#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"
#include "staging/overlay/proposal.h"

namespace galley {

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
///     index.lock is made -> a copy of the index is changed -> it becomes index.lock -> index
///
/// `git commit PATH` gives its hooks an index of its own and replaces the real one afterwards by
/// the index.lock that it holds: both are changed then.
///
/// Errors: kRefused `git.index_locked`; kConflict `check.index_changed` when the index holds other
///         contents by now. The index is then as it was.
Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change);

/// A file of the work tree that follows the index.
struct FileFix {
  RelPath path;
  std::string held;   ///< its bytes when it was looked at
  std::string fixed;  ///< what it gets
  uint32_t mode = 0;
};

/// Gives the file the fixed bytes if it still has the others, and returns whether it did. Who
/// writes to it meanwhile is not overwritten: what they wrote goes back, and what a second writer
/// wrote in between is kept beside it.
/// Errors: kConflict `check.file_changed`, which names the file beside; kIo.
Result<bool> follow_index(const WritableDirectory& work_tree, const FileFix& fix);

}  // namespace galley
