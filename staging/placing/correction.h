#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/text/diff.h"

namespace galley {

/// True if `patch`, a unified diff of one file, fits the file byte for byte at its line numbers,
/// and removes and adds the same lines as `stated`, in the same order. Context does not matter.
/// Every correction passes this check. For correction_at(), the old lines in `stated` are those of
/// the file.
[[nodiscard]] bool makes_stated_change(const Lines& file, const std::vector<HunkLine>& stated,
                                       std::string patch);

/// Returns the hunk with the file's own lines as context, ready to send. Empty if the place of the
/// change is not certain.
///
/// The file must have the removed lines exactly as in the hunk; in a correction that is not made
/// here, one may have other blanks, quotes or no final semicolon, if only one line is like it.
/// If lines are only added, the file
/// must have the hunk's lines before and after them. Every other place must have less than half as
/// many of the hunk's telling context lines.
///
/// `is_to_be_made`: Galley applies the correction itself, and no agent or person checks it. But the
/// edit was requested as a whole, so its changes may be far apart if the lines of each change occur
/// only once in the file.
[[nodiscard]] std::string correction_of(FileIndex& index, const Hunk& hunk,
                                        bool is_to_be_made = false);

/// Returns the hunk with the file's lines at `start`. Empty unless the old lines match there, as
/// follows. Blanks within a line may differ, and a context line may have more or fewer words. For
/// each line that differs, two telling lines must be equal. The caller must ensure that no other
/// place is similar.
[[nodiscard]] std::string correction_at(FileIndex& index, const Hunk& hunk, int64_t start);

/// Returns the hunk that changes `before` to `after` by `script`. Their common lines are its
/// context.
[[nodiscard]] Hunk hunk_between(const Lines& before, const Lines& after, const EditScript& script);

/// Returns the different hunks that a text and its replacement can mean: if one of two equal lines
/// is removed, it may be the first or the second, and new lines may be before or after a line that
/// only the file has. Empty if the texts are too long.
[[nodiscard]] std::vector<Hunk> readings_of(const Lines& before, const Lines& after);

/// Returns the correction of a change with several readings. Empty unless all readings have the
/// same result in this file.
[[nodiscard]] std::string correction_of_all(FileIndex& index, const std::vector<Hunk>& readings);

}  // namespace galley
