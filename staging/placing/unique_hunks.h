#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// A hunk and its first lines in the old and the new text, 0-based. Borrows both texts.
struct PlacedHunk {
  Hunk hunk;
  size_t old_begin = 0;
  size_t new_begin = 0;

  /// The hunk with its `@@` line, as in a unified diff.
  [[nodiscard]] std::string text() const;
};

/// The changes as hunks with as much context as makes the old lines of each unique, or as one hunk.
/// Empty if that is too much.
[[nodiscard]] std::vector<PlacedHunk> unique_hunks(std::string_view old_text,
                                                   std::string_view new_text, bool is_one);

/// The hunk that creates a file.
[[nodiscard]] std::vector<PlacedHunk> whole_file_hunk(const Lines& lines);

}  // namespace galley
