#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/text/splice.h"

namespace galley {

class FileIndex;

/// The steps of matching, in order. The first step that finds a place decides. If it finds several,
/// the edit is ambiguous.
enum class MatchStep : uint8_t {
  kExact,       ///< byte for byte at the stated place (or the only place, if none is stated)
  kOffset,      ///< byte for byte elsewhere
  kLineEnds,    ///< the same except for line terminators
  kFuzz,        ///< without up to two outer context lines at each end
  kWhiteSpace,  ///< the same except for white space
  kUnicode,     ///< the same except for typographic punctuation
  kMended,      ///< with repairs of typical mistakes of language models (mend.h)
};
[[nodiscard]] std::string_view match_step_name(MatchStep step);

enum class WhiteSpaceFix : uint8_t { kNoWarn, kWarn, kFix, kError };

/// Options of the matcher. Those of `git apply` have the same names and meanings.
struct MatchOptions {
  MatchStep last_step = MatchStep::kMended;  ///< --strict is kExact
  std::optional<uint32_t> min_context;       ///< -C N; default: up to two may be ignored
  /// Whether the file is the edit's base (true) or another version (false), by the index line of a
  /// git patch. Unset if unknown.
  std::optional<bool> base_is_proven;
  bool ignore_white_space = false;     ///< --ignore-whitespace: even if indentation is syntax
  bool indentation_is_syntax = false;  ///< in this file; a shift must be uniform
  WhiteSpaceFix white_space = WhiteSpaceFix::kNoWarn;
  std::vector<std::string> choices;  ///< ids of the chosen candidates
  std::vector<std::string> strict;   ///< names of leniencies to refuse

  [[nodiscard]] bool is_strict(std::string_view rule) const {
    return std::find(strict.begin(), strict.end(), rule) != strict.end();
  }
};

/// The place of one edit in a file.
struct Placement {
  size_t edit = 0;  ///< index among the file's hunks or text edits
  std::string id;   ///< hash of old and new lines
  MatchStep step = MatchStep::kExact;
  int64_t offset = 0;  ///< lines from the stated place
  uint32_t fuzz = 0;   ///< ignored context lines, the maximum of both ends
  uint32_t line = 0;   ///< 1-based, in the file before the edit
  uint32_t count = 0;  ///< number of lines of the pre-image
  std::string indent;  ///< shift of the new lines, such as "+  " or "-\t"; may be empty
  std::vector<std::string> choices;  ///< those of MatchOptions::choices that selected the place
};

/// A place that an ambiguous edit could mean.
struct Candidate {
  std::string id;     ///< in MatchOptions::choices it selects this place
  uint32_t line = 0;  ///< 1-based
  uint32_t count = 0;
  std::string excerpt;  ///< the first lines of the place
};

/// A line of the file that is similar to the wanted one.
struct SimilarLine {
  uint32_t line = 0;  ///< 1-based
  std::string text;
};

/// Why one edit does not fit, and suggestions how to correct it.
struct EditFailure {
  size_t edit = 0;
  std::string id;
  std::string
      reason;  ///< `patch.context_not_found`, `patch.ambiguous`, `patch.already_applied`, ...
  std::string message;  ///< one sentence with the place and a remedy
  std::vector<Candidate> candidates;
  size_t more_candidates = 0;  ///< number of places that are not listed
  uint32_t document_line = 0;
  uint32_t nearest_line = 0;  ///< 1-based start of the nearest place; 0 if there is none
  uint32_t nearest_count = 0;
  std::vector<std::string> expected;  ///< the lines searched for
  std::vector<std::string> found;     ///< the lines of the nearest place
  std::vector<SimilarLine> similar;   ///< other lines that resemble the wanted one
  size_t more_similar = 0;            ///< number of such lines that are not listed
  std::string rebased;                ///< the corrected hunk, ready to send; empty if uncertain
};

/// The places of all edits of one file in one content, or why they do not fit.
struct PlacedEdits {
  Splices splices;
  std::vector<Placement> placements;
  std::vector<EditFailure> failures;
  std::vector<Leniency> leniencies;
  /// Why the document counts as cut off; empty unless its last hunk is too short, and neither the
  /// document nor the file proves that the counts are wrong.
  std::string cut_off;
};

/// Places the hunks or text edits of one file. If the file has a form that edits do not use
/// (UTF-16, a byte order mark, lines that end in CR), they are placed in its TextView.
[[nodiscard]] PlacedEdits place_edits(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places all hunks of a file together, without overlap. Hunks that fit are in `splices` even if
/// others fail; the caller decides whether to use them.
[[nodiscard]] PlacedEdits place_hunks(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places text edits in order, each on the result of the edits before it.
[[nodiscard]] PlacedEdits place_text_edits(std::string_view content, const FileEdit& edit,
                                           const MatchOptions& options);

/// The id of each hunk or text edit of a file. It depends only on the content; equal edits get the
/// suffixes -2, -3, and so on.
[[nodiscard]] std::vector<std::string> edit_ids(const FileEdit& edit);

/// True if indentation is syntax in the language of this file (Python, YAML, Makefiles, ...).
[[nodiscard]] bool indentation_is_syntax(std::string_view path);

/// Returns whether the operation must end now. After it has returned true, it must always return
/// true. Empty: never.
using EndQuestion = std::function<bool()>;

/// As place_edits(), but calls `is_over` before each hunk or text edit. If that returns true, the
/// result must not be used.
[[nodiscard]] PlacedEdits place_edits_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// As place_edits_until(), for place_hunks().
[[nodiscard]] PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                                            const FileEdit& edit, const MatchOptions& options);
/// As place_edits_until(), for place_text_edits().
[[nodiscard]] PlacedEdits place_text_edits_until(const EndQuestion& is_over,
                                                 std::string_view content, const FileEdit& edit,
                                                 const MatchOptions& options);

/// As place_hunks() of place.h, with a file index that several calls can use.
[[nodiscard]] PlacedEdits place_hunks(FileIndex& index, const FileEdit& edit,
                                      const MatchOptions& options);

}  // namespace galley
