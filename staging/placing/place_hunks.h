#pragma once

#include "staging/placing/file_index.h"
#include "staging/placing/place.h"

namespace galley {

/// As place_hunks() of place.h, with a file index that several calls can use.
[[nodiscard]] PlacedEdits place_hunks(FileIndex& index, const FileEdit& edit,
                                      const MatchOptions& options);

}  // namespace galley
