#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// The hunk, which stands at line `start` but for typographic characters, with added lines that
/// have the file's characters wherever the hunk's removed and added lines share theirs.
///
/// Nothing when that can be read in several ways, or when a quote or dash that the file writes
/// otherwise was taken away and the same one added elsewhere. `kept` holds the new lines.
[[nodiscard]] std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk,
                                                      size_t start, std::deque<std::string>& kept);

}  // namespace galley
