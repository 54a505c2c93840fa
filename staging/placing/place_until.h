#pragma once

#include <functional>
#include <string_view>

#include "staging/formats/edit_set.h"
#include "staging/placing/place.h"

namespace galley {

/// Whether what is being done is to end here. Once it says yes it goes on saying so. Empty: never.
using EndQuestion = std::function<bool()>;

/// As place_edits; `is_over` is asked before each hunk or text edit. Once it says yes, what comes
/// back means nothing.
[[nodiscard]] PlacedEdits place_edits_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// The same of place_hunks.
[[nodiscard]] PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// The same of place_text_edits.
[[nodiscard]] PlacedEdits place_text_edits_until(const EndQuestion& is_over,
                                                 std::string_view content, const FileEdit& edit,
                                                 const MatchOptions& options);

}  // namespace galley
