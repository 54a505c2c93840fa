#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/placing/place.h"

namespace galley {

/// A hunk that could not be placed, with what is known of it.
struct FailedHunk {
  const Hunk& hunk;
  size_t edit = 0;
  std::string id;
  const std::vector<std::string_view>& pattern;
  int64_t stated = -1;  ///< 0-based line, -1 when none was stated
};

/// Places of an ambiguous edit that are listed.
inline constexpr size_t kListedCandidates = 10;
/// Lines of an edit and of the nearest place that a failure shows.
inline constexpr size_t kShownLines = 200;

/// How to send a candidate back, on the command line and in a tool call.
inline constexpr std::string_view kHowToChoose =
    "send a candidate's id (--choose ID, or \"choices\": [ID] in a tool call)";

/// Nothing at any step: already applied, or the nearest place, the difference and the hunk rebased.
[[nodiscard]] EditFailure explain_missing(FileIndex& index, const FailedHunk& failed,
                                          std::string_view path);
/// Its place may be certain, but not whether its new lines are as they are written.
[[nodiscard]] EditFailure explain_new_lines(const FailedHunk& failed, std::string_view doubt);
[[nodiscard]] EditFailure explain_ambiguous(const FailedHunk& failed, bool is_doubtful);
/// Its lines are in the file, but anchor number `anchor` speaks against each of their places.
[[nodiscard]] EditFailure explain_anchor(FileIndex& index, const FailedHunk& failed, size_t anchor);
[[nodiscard]] EditFailure explain_out_of_order(const FailedHunk& failed, int64_t found);
/// The lines are at `start` but for quotes and dashes, which the new lines cannot keep.
[[nodiscard]] EditFailure explain_characters(const Lines& file, const FailedHunk& failed,
                                             int64_t start);
/// A place was found, at a step that is not allowed.
[[nodiscard]] EditFailure explain_step(const FailedHunk& failed, MatchStep step);

/// A place of an edit as it is listed.
[[nodiscard]] Candidate candidate_at(const std::string& edit_id, const Lines& lines, int64_t start,
                                     int64_t count);

}  // namespace galley
