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

/// The steps of matching, in order; the first with exactly one place wins.
enum class MatchStep : uint8_t {
  kExact,       ///< byte for byte at the place stated (or the only place, when none is stated)
  kOffset,      ///< byte for byte elsewhere
  kLineEnds,    ///< the same but for line terminators
  kFuzz,        ///< without up to two outer context lines a side
  kWhiteSpace,  ///< the same but for white space
  kUnicode,     ///< the same but for typographic punctuation
  kMended,      ///< read as language models deform hunks (mend.h)
};
[[nodiscard]] std::string_view match_step_name(MatchStep step);

enum class WhiteSpaceFix : uint8_t { kNoWarn, kWarn, kFix, kError };

/// How far the matcher may go; names and meanings of `git apply` where it has them.
struct MatchOptions {
  MatchStep last_step = MatchStep::kMended;  ///< --strict is kExact
  std::optional<uint32_t> min_context;       ///< -C N; without it at most two lines a side go
  /// Whether the file is known to be (true) or not to be (false) what the edit was made on, from
  /// the index line of a git patch; unset when the edit does not say.
  std::optional<bool> base_is_proven;
  bool ignore_white_space = false;      ///< --ignore-whitespace: also where it is meaning
  bool indentation_is_meaning = false;  ///< of the file: shifts must be uniform
  WhiteSpaceFix white_space = WhiteSpaceFix::kNoWarn;
  std::vector<std::string> choices;  ///< candidate ids sent back to choose a place
  std::vector<std::string> strict;   ///< names of leniencies that are not wanted

  [[nodiscard]] bool is_strict(std::string_view rule) const {
    return std::find(strict.begin(), strict.end(), rule) != strict.end();
  }
};

/// Where one edit of a file landed.
struct Placement {
  size_t edit = 0;  ///< index among the file's hunks or text edits
  std::string id;   ///< content-stable: of what is looked for and what is put there
  MatchStep step = MatchStep::kExact;
  int64_t offset = 0;  ///< lines from the stated place
  uint32_t fuzz = 0;   ///< context lines left out at the worse end
  uint32_t line = 0;   ///< 1-based, in the file as it was before
  uint32_t count = 0;  ///< lines of the file that the pre-image covers
  std::string indent;  ///< shift of the new lines: "+  " or "-\t"; empty when none
};

/// A place that an ambiguous edit could mean.
struct Candidate {
  std::string id;     ///< send it back in MatchOptions::choices to take this place
  uint32_t line = 0;  ///< 1-based
  uint32_t count = 0;
  std::string excerpt;  ///< the first lines there
};

/// A line of the file that is like the one looked for.
struct SimilarLine {
  uint32_t line = 0;  ///< 1-based
  std::string text;
};

/// Why one edit does not fit, and what would.
struct EditFailure {
  size_t edit = 0;
  std::string id;
  std::string
      reason;  ///< `patch.context_not_found`, `patch.ambiguous`, `patch.already_applied`, ...
  std::string message;  ///< one sentence: the place and the way out
  std::vector<Candidate> candidates;
  size_t more_candidates = 0;  ///< places beyond those listed
  uint32_t document_line = 0;
  uint32_t nearest_line = 0;  ///< 1-based start of the nearest place; 0 when nothing is near
  uint32_t nearest_count = 0;
  std::vector<std::string> expected;  ///< the lines looked for
  std::vector<std::string> found;     ///< the lines of the nearest place
  std::vector<SimilarLine> similar;   ///< lines elsewhere that are like the one looked for
  size_t more_similar = 0;            ///< such lines beyond those listed
  std::string rebased;  ///< the hunk on what is there, ready to send again; empty when not possible
};

/// All edits of one file placed on one content, or the reasons why not.
struct PlacedEdits {
  Splices splices;
  std::vector<Placement> placements;
  std::vector<EditFailure> failures;
  std::vector<Leniency> leniencies;
  /// Why the document counts as cut off: neither it nor the file shows that its counts are wrong.
  std::string cut_off;
};

/// Places the hunks or text edits of one file, on the file's text where its bytes are in a form
/// that edits are not written in (UTF-16, a byte order mark, lines that end in CR).
[[nodiscard]] PlacedEdits place_edits(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places every hunk of a file together: order kept, no overlap. Those that fit are in `splices`
/// even when others fail; the caller decides.
[[nodiscard]] PlacedEdits place_hunks(std::string_view content, const FileEdit& edit,
                                      const MatchOptions& options);

/// Places text edits one after the other, each on the result of those before.
[[nodiscard]] PlacedEdits place_text_edits(std::string_view content, const FileEdit& edit,
                                           const MatchOptions& options);

/// The content-stable id of each hunk or text edit of a file; equal ones get -2, -3 ….
[[nodiscard]] std::vector<std::string> edit_ids(const FileEdit& edit);

/// True for languages where leading white space is syntax (Python, YAML, Makefiles, ...).
[[nodiscard]] bool indentation_is_meaning(std::string_view path);

}  // namespace galley
