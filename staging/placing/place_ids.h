#pragma once

#include <cstdint>
#include <string>

#include "staging/text/lines.h"

namespace galley {

/// The id that chooses one place of one edit (edit_ids in place.h). It stays the same as long as
/// the lines at that place do.
[[nodiscard]] std::string candidate_id(const std::string& edit_id, const Lines& lines,
                                       int64_t start, int64_t count);

}  // namespace galley
