#pragma once

#include <string>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// How often a file is read that changes meanwhile.
inline constexpr int kMaxReadsOfLiveFile = 8;

/// A file as it was while nobody wrote it.
struct LiveFile {
  std::string refusal;  ///< not empty: why a change cannot hold it
  Node node;
  Content bytes;
  int64_t mtime_ns = 0;
};

/// Reads a file that others may write at the same time: again, until its stat is the same before
/// and after. A store through a mapping may go unnoticed until the kernel writes it back; then the
/// next look finds it. `path` is what messages call it.
/// Errors: kConflict `run.file_changes` when it changes each time; kNotFound when it went; kIo.
[[nodiscard]] Result<LiveFile> read_live_file(const Directory& directory, const RelPath& name,
                                              const RelPath& path);

}  // namespace galley
