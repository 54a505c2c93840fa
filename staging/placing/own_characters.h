#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// The hunk with the file's own characters in its added lines, wherever removed and added lines
/// share theirs. It must match at line `start`, except for typographic characters.
///
/// Returns nullopt when there are several readings. Also when a quote or dash that the file spells
/// differently was removed and the same one was added elsewhere. `kept` owns the new lines.
[[nodiscard]] std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk,
                                                      size_t start, std::deque<std::string>& kept);

}  // namespace galley
