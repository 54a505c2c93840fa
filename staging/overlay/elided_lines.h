#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/text/diff.h"
#include "staging/text/lines.h"

namespace galley {

/// True for a comment which has no other meaning than that lines were left out: `// ... existing
/// code ...`, `# rest of the function unchanged`. Stricter than is_elision() of placing/damage.h.
[[nodiscard]] bool stands_for_lines(std::string_view line);

/// The lines of a whole file in which new comments stand where several lines of code are missing.
/// Returns the first such comment as an index into `after`. `changed` is the difference.
[[nodiscard]] std::optional<size_t> comment_for_lines(const Lines& before, const Lines& after,
                                                      const std::vector<ChangedRange>& changed);

/// Refuses new text of a file that says that lines were left out, if `file` lacks that line.
Result<void> check_content(const RelPath& path, std::string_view file, std::string_view content);

/// The same for the lines that the edits add. A line that the old lines of its edit have, too, is
/// left to the search for the place.
Result<void> check_added_lines(const RelPath& path, std::string_view file, const FileEdit& edit);

}  // namespace galley
