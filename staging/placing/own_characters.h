#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// Returns the hunk with the file's blanks and typographic characters in those parts of its added
/// lines that equal parts of its removed lines, except for indentation. The hunk must match at line
/// `start`, except for white space and typographic characters.
///
/// Returns nullopt if there are several readings. Also if the hunk removes a quote, a dash or
/// blanks that the file spells differently, and adds them elsewhere. `kept` owns the new lines.
[[nodiscard]] std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk,
                                                      size_t start, std::deque<std::string>& kept);

}  // namespace galley
