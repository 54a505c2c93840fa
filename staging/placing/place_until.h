#pragma once

#include <functional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/place.h"

namespace galley {

/// Returns whether the operation must end now. After it has returned true, it must always return
/// true. Empty: never.
using EndQuestion = std::function<bool()>;

/// As place_edits(), but calls `is_over` before each hunk or text edit. If that returns true, the
/// result must not be used.
[[nodiscard]] PlacedEdits place_edits_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// As place_edits_until(), for place_hunks().
[[nodiscard]] PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// As place_edits_until(), for place_text_edits().
[[nodiscard]] PlacedEdits place_text_edits_until(const EndQuestion& is_over,
                                                 std::string_view content, const FileEdit& edit,
                                                 const MatchOptions& options);

}  // namespace galley
