#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/text/lines.h"

namespace galley {

/// True if the file has a context line of the hunk, but not around the lines [begin, end), which
/// were found for the hunk's other lines. Then the hunk probably means the place of that line,
/// whose other lines have changed since. `change` is the file's line of the first change.
///
/// A line around the place is on the side that the hunk says, and not in another block unless the
/// hunk leaves a block, too. White space may differ.
[[nodiscard]] bool points_elsewhere(FileIndex& index, const Hunk& hunk, int64_t begin, int64_t end,
                                    int64_t change);

/// Whether two lines have the same words except for negations, but other negations or signs of a
/// condition, or are mirrored (left, right). Then the block of the file's line may be the opposite
/// of the meant one.
[[nodiscard]] bool may_be_opposite(std::string_view one, std::string_view other);

/// True if the hunk has enough context and new lines to prove that it was already applied. It needs
/// a telling context line. Each of its changes needs a telling new line, or context on both sides.
[[nodiscard]] bool can_prove_applied(const Hunk& hunk);

/// The 0-based line where the hunk was already applied, as its context proves; -1 if it is not
/// found or not proved.
[[nodiscard]] int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated);

/// The 0-based line where the file has the hunk's result, for any reason; -1 if it is not found.
[[nodiscard]] int64_t new_lines_at(FileIndex& index, const Hunk& hunk);

/// True if all removed lines of the hunk, or all of its context, are at `start`.
[[nodiscard]] bool resembles(const Lines& file, const Hunk& hunk, int64_t start);

/// True if the file has all telling old lines of the hunk, in order, near `start` and apart from
/// the place at `found`. Other lines may have been inserted between them.
[[nodiscard]] bool has_lines_near(const Lines& file, const Hunk& hunk, int64_t start,
                                  int64_t found);

/// True if the file has, next to the stated line and apart from the place at `found`, the hunk's
/// result, or a changed version of its old lines. White space and typography may differ. Then the
/// stated place was changed meanwhile, and the other one is that of a twin.
[[nodiscard]] bool is_changed_near(FileIndex& index, const Hunk& hunk, int64_t stated,
                                   int64_t found);

/// Returns the offset of the lines that an edit adds next to `old_text`, if they are already there
/// in the file. `offset` is the position of the old text, or of the insertion if the old text is
/// empty.
[[nodiscard]] std::optional<size_t> equal_lines_next_to(std::string_view file, size_t offset,
                                                        std::string_view old_text,
                                                        std::string_view new_text);

/// True if an edit of the old text at `offset` adds text in a line next to which the file has the
/// same text: `[1` becomes `[1, 2` in `[1, 2]`.
[[nodiscard]] bool has_text_next_to(std::string_view file, size_t offset, std::string_view old_text,
                                    std::string_view new_text);

/// The note about an edit that was applied although the same lines are already at `line` (1-based).
[[nodiscard]] Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line);

/// True if adjacent lines of the file are equal, and the hunk may mean another of them.
///
/// If such lines are changed or next to a change, only their number shows which one is meant. So
/// the hunk as it was written must have as many of them as the file. Lines that differ only in
/// blanks count as equal.
///
/// `made` is the hunk with the lines of the file and the right line number. `stated` is the hunk as
/// it was written.
[[nodiscard]] bool may_mean_an_equal_line(const Lines& file, const Hunk& made, const Hunk& stated);

/// True if the file's line `there` differs in blanks from a removed line, and an equal line is at
/// most three lines away.
[[nodiscard]] bool has_equal_line_close(const Lines& file, std::string_view removed, int64_t there);

/// True if lines of the file before the hunk's line `i` would be in the middle of lines that are
/// replaced by others. Then it is uncertain where they belong among the new lines.
[[nodiscard]] bool replaces_across(const Hunk& hunk, size_t i);

/// True if it is uncertain where a part of a hunk ends and the next one begins. `last` is the
/// file's last line of the first part, `next` the first line of the next part (0-based; -1: none).
/// Either `last` equals the line above `next`, or `next` equals the line below `last`.
[[nodiscard]] bool is_split_ambiguous(const Lines& file, int64_t last, int64_t next);

/// True if it is certain where new lines belong among blank lines. If lines are inserted next to
/// blank lines, the hunk must have as many blank lines as the file. It may have more of them if
/// the new lines are directly next to a line that is not blank.
///
/// `partner` has the file's line for each old line, or -1.
[[nodiscard]] bool tells_blank_lines(const Lines& file, const Hunk& hunk,
                                     const std::vector<int64_t>& partner);

/// True if the file already has a line that the hunk adds, near the place of that line, ignoring
/// blanks. Then a part of the change may already have been applied. `start` is the hunk's place,
/// and `old_lines` are its old lines as it was written.
[[nodiscard]] bool adds_what_is_near(const Lines& file, const Hunk& hunk,
                                     const std::vector<std::string_view>& old_lines, int64_t start);

}  // namespace galley
