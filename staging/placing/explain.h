#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/placing/place.h"
#include "staging/text/lines.h"

namespace galley {

/// The known facts about a hunk that could not be placed.
struct FailedHunk {
  const Hunk& hunk;
  size_t edit = 0;
  std::string id;
  const std::vector<std::string_view>& pattern;
  int64_t stated = -1;  ///< 0-based line; -1 if not stated
};

/// Maximum number of places of an ambiguous edit that are listed.
inline constexpr size_t kListedCandidates = 10;
/// Maximum number of lines of an edit, and of the nearest place, that a failure shows.
inline constexpr size_t kShownLines = 200;

/// How to choose a candidate, on the command line and in a tool call.
inline constexpr std::string_view kHowToChoose =
    "send a candidate's id (--choose ID, or \"choices\": [ID] in a tool call)";

/// The mistake of an old text with escape sequences, before its line and kSendCharacters.
inline constexpr const char* kEscapesAsText =
    "they have escape sequences like '\\n' as text: read as line breaks, tabs and quotes they";
inline constexpr const char* kSendCharacters = "send the real characters";

/// Completes the failure of a hunk whose old lines the file has if escape sequences are read as
/// characters.
void name_escapes(FileIndex& index, const FailedHunk& failed, EditFailure& out);

/// No step found a place. The failure says that the hunk is already applied, or has the nearest
/// place, the difference and, if possible, the rebased hunk.
[[nodiscard]] EditFailure explain_missing(FileIndex& index, const FailedHunk& failed,
                                          std::string_view path);
/// The place may be certain, but it is not certain what the new lines are.
[[nodiscard]] EditFailure explain_new_lines(const FailedHunk& failed, std::string_view doubt);
[[nodiscard]] EditFailure explain_ambiguous(const FailedHunk& failed, bool is_doubtful);
/// The file has the hunk's lines, but anchor number `anchor` contradicts every place.
[[nodiscard]] EditFailure explain_anchor(FileIndex& index, const FailedHunk& failed, size_t anchor);
/// The hunk without line numbers equals hunk number `first`, and has the same place only.
[[nodiscard]] EditFailure explain_repeated(const FailedHunk& failed, size_t first);
[[nodiscard]] EditFailure explain_out_of_order(const FailedHunk& failed, int64_t found);
/// The lines at `start` have other quotes, dashes or blanks, which the new lines cannot keep.
[[nodiscard]] EditFailure explain_characters(const Lines& file, const FailedHunk& failed,
                                             int64_t start);
/// A place was found, but by a step that is not allowed.
[[nodiscard]] EditFailure explain_step(const FailedHunk& failed, MatchStep step);

/// The list entry of a place of an edit. `file` is the content_key() of the file.
[[nodiscard]] Candidate candidate_at(const std::string& edit_id, const std::string& file,
                                     const Lines& lines, int64_t start, int64_t count);

/// A short hash of a file's content, for candidate_id().
[[nodiscard]] std::string content_key(std::string_view content);

/// The id that chooses one place of one edit (edit_ids in place.h). It becomes void when the file
/// changes: otherwise equal lines could get to the same line number, and the id would choose them.
/// `file` is the content_key() of the file.
[[nodiscard]] std::string candidate_id(const std::string& edit_id, const std::string& file,
                                       const Lines& lines, int64_t start, int64_t count);

}  // namespace galley
