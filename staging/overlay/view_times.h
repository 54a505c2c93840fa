#pragma once

#include <cstdint>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"

namespace galley {

// A view shows each changed file with the time at which it was written (Entry::written). So make
// and ninja rebuild in it what is older than its source, and nothing else. A file that was changed
// and has the workspace's content again keeps an entry for the time of that, because outputs that
// commands made in between are newer than the file on disk.

/// The files that have their base's content again, as changes without a difference. Leaves out what
/// another program saved since, which commands see instead.
[[nodiscard]] Result<ChangeSet> restored_files(const Overlay& overlay);

/// The entries of the changes and of the restored files: what a view shows instead of the disk.
[[nodiscard]] Result<Overlay::Entries> shown_entries(const Overlay& overlay);

/// Whether views of both show the same files with the same times.
[[nodiscard]] bool is_shown_alike(const Overlay::Entries& a, const Overlay::Entries& b);

/// Restores entries, to take back what commands may have seen. A file that gets another content by
/// that counts as written now. Its entry stays, even if it is only for the time. If a run wrote the
/// entries (`are_written`), a changed file keeps the time that the run gave it.
void roll_back(Overlay& overlay, const Overlay::Entries& entries, bool are_written = false);

/// Notes that a command wrote a file of the view again, with the same content.
void note_rewritten(Overlay& overlay, const RelPath& path, int64_t mtime_ns);

}  // namespace galley
