#pragma once

#include <optional>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "base/result.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A file of the work tree that follows the index when the index is fixed.
struct FollowingFile {
  RelPath path = RelPath::root();
  std::string old_id;  ///< git's id of the index's content
  std::string new_id;
  ContentId held;   ///< the file's bytes when it was read
  ContentId fixed;  ///< the bytes that it gets
};

/// The journal of a fix of the index. It is durable before the fix changes anything, and is removed
/// at the end of the fix. Recovery finishes an interrupted fix from it.
///
///     fix/<uuid>/<n>       the new bytes of the n-th file; after the exchange, its old ones
///     fix/<uuid>/journal   text, in lines:
///         galley fix 1 <nonce>
///         index <path>                                        one or two
///         file <old id> <new id> <held> <fixed> <path>        the n-th from 0, any number
///         end <SHA-256 of everything before>
///
/// append_name() (staging/overlay/node_text.h) writes the paths, so none can end a line.
/// It does not contain a step counter. Recovery goes forward if the index has the new ids, else
/// back.
struct FixJournal {
  std::string nonce;                 ///< in the lock files of the fix
  std::vector<std::string> indexes;  ///< absolute paths
  std::vector<FollowingFile> files;
};

/// The folder of the fix in `.galley`. The folder of another workspace is ignored.
[[nodiscard]] RelPath fix_folder(const StateDirectory& state);
/// The slot of the n-th file, in that folder.
[[nodiscard]] RelPath fix_slot(size_t n);

/// Writes the journal durably.
/// Errors: kIo.
Result<void> write_fix_journal(const WritableDirectory& folder, const FixJournal& journal);
/// Returns nullopt if the journal is missing: then the fix has changed nothing.
/// Errors: kInvalid `check.fix_journal`; kIo.
Result<std::optional<FixJournal>> read_fix_journal(const Directory& folder);

}  // namespace galley
