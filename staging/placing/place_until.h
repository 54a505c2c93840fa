#pragma once

#include <functional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/place.h"

namespace galley {

/// Whether the operation must end now. After true it always returns true. Empty: never.
using EndQuestion = std::function<bool()>;

/// Like place_edits, but calls `is_over` before each hunk or text edit. After it has returned true,
/// the result is undefined.
[[nodiscard]] PlacedEdits place_edits_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// The same for place_hunks.
[[nodiscard]] PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// The same for place_text_edits.
[[nodiscard]] PlacedEdits place_text_edits_until(const EndQuestion& is_over,
                                                 std::string_view content, const FileEdit& edit,
                                                 const MatchOptions& options);

}  // namespace galley
