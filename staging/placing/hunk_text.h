#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
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

/// True if the hunk says that it ends at the end of the file: by `*** End of File`, or by a last
/// line without a newline.
[[nodiscard]] bool must_end_file(const Hunk& hunk);
/// True if such a hunk is not at the end: the file has a line from `end` on that is not blank.
[[nodiscard]] bool leaves_end_of_file(const Lines& file, const Hunk& hunk, int64_t end);

/// The file's lines for the old lines of the hunk, and the hunk's own ones where `partner`, which
/// has the file's line for each old line, is negative.
[[nodiscard]] std::string partner_lines(const Lines& file, const Hunk& hunk,
                                        const std::vector<int64_t>& partner);

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

/// The line end of the line that contains the byte at `offset` of a file's text. If that line lacks
/// one, it is the line end of the line above, or "\n" if there is none.
[[nodiscard]] std::string_view line_end_near(std::string_view file, size_t offset);

/// Returns `text` with the line ends that it needs to replace `length` bytes at `offset` of a
/// file's text. Each line gets the line end of the line that it keeps or replaces, or of the line
/// before it.
[[nodiscard]] std::string with_line_ends_of(std::string_view file, size_t offset, size_t length,
                                            std::string_view text);

/// True if the texts differ only in line ends. Then they must be written as given; in any other
/// edit, new lines get those of the file.
[[nodiscard]] bool changes_line_ends(std::string_view old_text, std::string_view new_text);

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

/// Returns the hunk with the file's blanks and typographic characters in those parts of its added
/// lines that equal parts of its removed lines, except for indentation. The hunk must match at line
/// `start`, except for white space and typographic characters.
///
/// Returns nullopt if there are several readings. Also if the hunk removes a quote, a dash or
/// blanks that the file spells differently, and adds them elsewhere. `kept` owns the new lines.
[[nodiscard]] std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk,
                                                      size_t start, std::deque<std::string>& kept);

}  // namespace galley
