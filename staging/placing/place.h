#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/text/splice.h"

namespace galley {

/// The steps of matching, in order. The first step with exactly one place wins.
enum class MatchStep : uint8_t {
  kExact,       ///< byte for byte at the stated place (or the only place, when none is stated)
  kOffset,      ///< byte for byte elsewhere
  kLineEnds,    ///< the same except for line terminators
  kFuzz,        ///< without up to two outer context lines on each side
  kWhiteSpace,  ///< the same except for white space
  kUnicode,     ///< the same except for typographic punctuation
  kMended,      ///< with repairs of typical mistakes of language models (mend.h)
};
[[nodiscard]] std::string_view match_step_name(MatchStep step);

enum class WhiteSpaceFix : uint8_t { kNoWarn, kWarn, kFix, kError };

/// Limits of the matcher, with names and meanings of `git apply` where it has them.
struct MatchOptions {
  MatchStep last_step = MatchStep::kMended;  ///< --strict is kExact
  std::optional<uint32_t> min_context;       ///< -C N; else up to two lines a side may be dropped
  /// Whether the file is known to be the edit's base (true) or another version (false), by the
  /// index line of a git patch; unset when the edit does not say.
  std::optional<bool> base_is_proven;
  bool ignore_white_space = false;      ///< --ignore-whitespace: also where it has meaning
  bool indentation_is_meaning = false;  ///< in this file: shifts must be uniform
  WhiteSpaceFix white_space = WhiteSpaceFix::kNoWarn;
  std::vector<std::string> choices;  ///< candidate ids that choose a place
  std::vector<std::string> strict;   ///< names of leniencies to refuse

  [[nodiscard]] bool is_strict(std::string_view rule) const {
    return std::find(strict.begin(), strict.end(), rule) != strict.end();
  }
};

/// The place of one edit in a file.
struct Placement {
  size_t edit = 0;  ///< index among the file's hunks or text edits
  std::string id;   ///< content-stable: hash of old and new lines
  MatchStep step = MatchStep::kExact;
  int64_t offset = 0;  ///< lines from the stated place
  uint32_t fuzz = 0;   ///< context lines dropped, at the worse end
  uint32_t line = 0;   ///< 1-based, in the file before the edit
  uint32_t count = 0;  ///< lines of the file in the pre-image
  std::string indent;  ///< shift of the new lines: "+  " or "-\t"; empty when none
};

/// A place that an ambiguous edit could mean.
struct Candidate {
  std::string id;     ///< send it in MatchOptions::choices to take this place
  uint32_t line = 0;  ///< 1-based
  uint32_t count = 0;
  std::string excerpt;  ///< the first lines there
};

/// A line of the file that is similar to the wanted one.
struct SimilarLine {
  uint32_t line = 0;  ///< 1-based
  std::string text;
};

/// Why one edit does not fit, and suggestions.
struct EditFailure {
  size_t edit = 0;
  std::string id;
  std::string
      reason;  ///< `patch.context_not_found`, `patch.ambiguous`, `patch.already_applied`, ...
  std::string message;  ///< one sentence: the place and a solution
  std::vector<Candidate> candidates;
  size_t more_candidates = 0;  ///< places beyond those listed
  uint32_t document_line = 0;
  uint32_t nearest_line = 0;  ///< 1-based start of the nearest place; 0 when nothing is near
  uint32_t nearest_count = 0;
  std::vector<std::string> expected;  ///< the lines looked for
  std::vector<std::string> found;     ///< the lines of the nearest place
  std::vector<SimilarLine> similar;   ///< lines elsewhere that resemble the wanted one
  size_t more_similar = 0;            ///< such lines beyond those listed
  std::string rebased;  ///< the hunk with the file's lines, ready to send; empty if impossible
};

/// All edits of one file placed on one content, or the reasons why not.
struct PlacedEdits {
  Splices splices;
  std::vector<Placement> placements;
  std::vector<EditFailure> failures;
  std::vector<Leniency> leniencies;
  /// Why the document counts as cut off: neither it nor the file proves that its counts are wrong.
  std::string cut_off;
};

/// Places the hunks or text edits of one file. If the file's bytes have a form that edits do not
/// use (UTF-16, a byte order mark, lines that end in CR), they are placed on its text.
[[nodiscard]] PlacedEdits place_edits(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places every hunk of a file together, in order and without overlap. Hunks that fit are in
/// `splices` even when others fail; the caller decides.
[[nodiscard]] PlacedEdits place_hunks(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places text edits in order, each on the result of the edits before it.
[[nodiscard]] PlacedEdits place_text_edits(std::string_view content, const FileEdit& edit,
                                           const MatchOptions& options);

/// The content-stable id of each hunk or text edit of a file; equal ones get -2, -3 ….
[[nodiscard]] std::vector<std::string> edit_ids(const FileEdit& edit);

/// True for languages where leading white space is syntax (Python, YAML, Makefiles, ...).
[[nodiscard]] bool indentation_is_meaning(std::string_view path);

}  // namespace galley
