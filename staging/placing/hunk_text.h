#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"
#include "staging/text/splice.h"

namespace galley {

/// The lines that a hunk looks for: context and removed lines.
[[nodiscard]] std::vector<std::string_view> pre_image(const Hunk& hunk);
/// The lines after the change: context and added lines.
[[nodiscard]] std::vector<std::string_view> post_image(const Hunk& hunk);
/// The number of context lines at the start and end of the hunk.
struct ContextCounts {
  size_t leading = 0;
  size_t trailing = 0;
};
[[nodiscard]] ContextCounts context_counts(const Hunk& hunk);

/// Returns the hunk with lines that it removes and adds again, at the start or end of a change, as
/// context.
[[nodiscard]] Hunk with_kept_lines(const Hunk& hunk);

/// True if the lines from `start` have the same terminators as those of `pattern`.
[[nodiscard]] bool ends_alike(const Lines& file, const std::vector<std::string_view>& pattern,
                              int64_t start);
/// True if the hunk changes line ends: it replaces a line by the same line with another terminator.
[[nodiscard]] bool changes_line_ends(const Hunk& hunk);

/// Appends the byte splices of a hunk whose pre-image matches at line `start` under `fold`.
///
/// Under kBytes, new lines are written as in the patch, except for terminators at the end of the
/// file. Otherwise `indent` maps their indentation to that of the place. They get the terminators
/// of their neighbours if the terminators of the pre-image differ from the file's.
void splice_hunk(const Lines& file, const Hunk& hunk, size_t start, LineFolding fold,
                 const IndentMap& indent, std::vector<Splice>& out);

/// True if `words` contains all of `wanted`, in order.
[[nodiscard]] bool holds_all(const std::vector<std::string_view>& words,
                             const std::vector<std::string_view>& wanted);

}  // namespace galley
