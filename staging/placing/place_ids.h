#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "staging/text/lines.h"

namespace galley {

/// A short hash of a file's content, for candidate_id().
[[nodiscard]] std::string content_key(std::string_view content);

/// The id that chooses one place of one edit (edit_ids in place.h). It becomes void when the file
/// changes: otherwise equal lines could get to the same line number, and the id would choose them.
/// `file` is the content_key() of the file.
[[nodiscard]] std::string candidate_id(const std::string& edit_id, const std::string& file,
                                       const Lines& lines, int64_t start, int64_t count);

}  // namespace galley
