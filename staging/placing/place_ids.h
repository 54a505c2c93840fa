#pragma once

#include <cstdint>
#include <string>

#include "staging/text/lines.h"

namespace galley {

/// The id that chooses one place of one edit (edit_ids in place.h). It is stable while the lines at
/// that place are.
[[nodiscard]] std::string candidate_id(const std::string& edit_id, const Lines& lines,
                                       int64_t start, int64_t count);

}  // namespace galley
