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

/// The lines that a hunk looks for: context and removed.
[[nodiscard]] std::vector<std::string_view> pre_image(const Hunk& hunk);
/// The lines that stand there afterwards: context and added.
[[nodiscard]] std::vector<std::string_view> post_image(const Hunk& hunk);
/// How many context lines the hunk begins and ends with.
struct ContextCounts {
  size_t leading = 0;
  size_t trailing = 0;
};
[[nodiscard]] ContextCounts context_counts(const Hunk& hunk);

/// True when the lines from `start` on end as those of `pattern` do, byte for byte.
[[nodiscard]] bool ends_alike(const Lines& file, const std::vector<std::string_view>& pattern,
                              int64_t start);
/// True when the hunk is about line ends: it puts a line in place of the same line with another.
[[nodiscard]] bool changes_line_ends(const Hunk& hunk);

/// The byte splices of a hunk whose pre-image stands at line `start` under `fold`.
///
/// Under kBytes new lines are put as the patch has them; otherwise they take the indentation of
/// the place through `indent` and, where the place's lines do not end as the pre-image's, the
/// terminator of their neighbours.
void splice_hunk(const Lines& file, const Hunk& hunk, size_t start, LineFolding fold,
                 const IndentMap& indent, std::vector<Splice>& out);

}  // namespace galley
