#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/text/diff.h"

namespace galley {

/// True when `patch`, a unified diff of one file, fits the file byte for byte at its line numbers,
/// and its removed and added lines are those of `stated`, in order. Context does not count. Every
/// correction passes this check; `stated` of correction_at() has the blanks of the file.
[[nodiscard]] bool makes_stated_change(const Lines& file, const std::vector<HunkLine>& stated,
                                       std::string patch);

/// The hunk with the file's own lines around its change, ready to send; empty when the place of the
/// change is not certain.
///
/// The file must have the removed lines exactly as the hunk does. Lines that are only added need
/// the hunk's lines before and after them. Every other place must have less than half as many of
/// the telling context lines.
///
/// `is_to_be_made`: the correction is made without a check by an agent or a person, but the edit
/// was requested as a whole. Then its changes may be far apart, if the file has the removed lines
/// of each change once.
[[nodiscard]] std::string correction_of(FileIndex& index, const Hunk& hunk,
                                        bool is_to_be_made = false);

/// The hunk with the file's lines at `start`; empty unless its old lines are there, with other
/// blanks between words, or more or fewer words in a context line. Two telling lines must be there
/// exactly for each that is not. The caller shows that no other place is similar.
[[nodiscard]] std::string correction_at(FileIndex& index, const Hunk& hunk, int64_t start);

/// The hunk that changes `before` to `after` by `script`, with their common lines as context.
[[nodiscard]] Hunk hunk_between(const Lines& before, const Lines& after, const EditScript& script);

/// The hunks that a text and its replacement can mean: of two equal lines, the first or the second
/// may have been removed. Empty when the texts are too long.
[[nodiscard]] std::vector<Hunk> readings_of(const Lines& before, const Lines& after);

/// The correction of a change with several readings; empty unless all readings have the same result
/// in this file.
[[nodiscard]] std::string correction_of_all(FileIndex& index, const std::vector<Hunk>& readings);

}  // namespace galley
