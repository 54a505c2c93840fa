#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/text/diff.h"

namespace galley {

/// True when `patch`, a unified diff of one file, fits the file byte for byte at its line numbers,
/// and its removed and added lines are those of `stated`, in that order; context does not count.
/// Every correction must pass this check before it is offered.
[[nodiscard]] bool makes_stated_change(const Lines& file, const std::vector<HunkLine>& stated,
                                       std::string patch);

/// The hunk with the lines that the file has around its change, ready to be sent; empty where the
/// place of the change is not certain.
///
/// The lines that the hunk removes must be in the file as they are in the hunk; lines that are only
/// added need the hunk's lines before and after them. No other place may come near: of the telling
/// context lines it has less than half as many.
///
/// `is_to_be_made`: nobody looks at it before it is made, but it was asked for as a whole. Then its
/// changes may be far apart, where each has removed lines that the file has once.
[[nodiscard]] std::string correction_of(FileIndex& index, const Hunk& hunk,
                                        bool is_to_be_made = false);

/// The hunk that makes `after` of `before` by `script`; what they share is context.
[[nodiscard]] Hunk hunk_between(const Lines& before, const Lines& after, const EditScript& script);

/// The hunks that a text and its replacement can mean: of two equal lines the first may have gone,
/// or the second. None when the texts are too long to tell.
[[nodiscard]] std::vector<Hunk> readings_of(const Lines& before, const Lines& after);

/// The correction of a change that can be read in several ways; empty unless all of them make the
/// same of this file.
[[nodiscard]] std::string correction_of_all(FileIndex& index, const std::vector<Hunk>& readings);

}  // namespace galley
