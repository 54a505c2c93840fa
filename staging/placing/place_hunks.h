#pragma once

#include "staging/placing/file_index.h"
#include "staging/placing/place.h"

namespace galley {

/// Like place_hunks of place.h, on a file index that serves several calls.
[[nodiscard]] PlacedEdits place_hunks(FileIndex& index, const FileEdit& edit,
                                      const MatchOptions& options);

}  // namespace galley
