#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/place.h"

namespace galley {

/// Makes the change of hunks that are sent twice once. Returns nothing if there are no such hunks,
/// or if the others do not fit without them. `places` has the only place of each hunk, -1 without
/// one.
///
/// A hunk is sent twice if an earlier one has its numbers, its lines and its place: all hunks of a
/// diff are about the same old lines, so they cannot be changed twice.
[[nodiscard]] std::optional<PlacedEdits> place_repeated_hunks_once(
    FileIndex& index, const FileEdit& edit, const MatchOptions& options,
    const std::vector<int64_t>& places);

}  // namespace galley
