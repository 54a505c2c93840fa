#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/place.h"

namespace galley {

/// The places of one hunk at the first step that finds any.
struct HunkPlaces {
  MatchStep step = MatchStep::kExact;
  LineFolding fold = LineFolding::kBytes;
  /// Lines of the file for the pre-image's first line, ascending, 0-based.
  std::vector<int64_t> starts;
  uint32_t fuzz = 0;
  size_t drop_leading = 0;  ///< context lines ignored, if fuzz > 0
  size_t drop_trailing = 0;
  /// The ignored context lines of each place, if there are several.
  std::map<int64_t, std::pair<size_t, size_t>> drops;
  bool is_cut = false;       ///< there may be more places
  bool is_doubtful = false;  ///< one place, but the evidence for it is weak
  /// Why it is not certain what the new lines are; empty if it is certain. The choice of a place
  /// does not remove this doubt.
  std::string_view doubt;
  /// One place, but nothing explains why it lacks the ignored context lines. Only the line number
  /// can confirm it.
  bool is_unexplained = false;
  /// A place next to the stated line that has the old lines except for white space, while the exact
  /// places are farther away.
  std::optional<int64_t> rival;
  /// The index of an anchor that contradicts all of these places, if no later step found another
  /// place.
  std::optional<size_t> anchor_against;
};

/// Searches for one hunk in one file, step by step.
///
/// If the first successful step finds several places, all are returned, and the caller decides.
class HunkSearch {
 public:
  HunkSearch(FileIndex& index, const Hunk& hunk, const MatchOptions& options);

  /// True if the file has the hunk's old lines byte for byte at the stated place.
  [[nodiscard]] bool matches_at_stated_line() const;
  [[nodiscard]] HunkPlaces find();
  /// Decides whether the remaining lines of the hunk prove `start`, one of the places that were
  /// found by fuzz. Another hunk, or the line number, may have excluded the others.
  void weigh_fuzz(HunkPlaces& places, int64_t start);
  /// The 0-based line that the header states; -1 if it does not state one.
  [[nodiscard]] int64_t stated() const;
  [[nodiscard]] const std::vector<std::string_view>& pattern() const { return pattern_; }

  static constexpr size_t kMaxPlaces = 200;  ///< places kept for one hunk

 private:
  HunkPlaces find_by_steps();
  HunkPlaces full(LineFolding fold, MatchStep step);
  [[nodiscard]] size_t max_fuzz() const;
  void find_reduced(size_t lead, size_t trail, HunkPlaces& places, std::set<int64_t>& starts);
  HunkPlaces fuzzy();
  std::optional<int64_t> rival_near_stated_line(const HunkPlaces& exact);
  HunkPlaces folded_steps();
  HunkPlaces without_pattern() const;
  [[nodiscard]] bool changes_to_what_is_there();
  [[nodiscard]] bool accepts_line_ends(int64_t start, size_t drop_leading,
                                       size_t drop_trailing) const;
  [[nodiscard]] bool is_done_at(int64_t start, LineFolding fold) const;
  [[nodiscard]] bool adds_what_is_there(const HunkPlaces& places, int64_t start) const;
  void narrow_by_anchors(HunkPlaces& places);
  [[nodiscard]] bool fits_ends(int64_t start) const;
  [[nodiscard]] bool has_tellable_line(size_t begin, size_t end) const;
  [[nodiscard]] bool is_explained(size_t pattern_line, int64_t file_line) const;
  [[nodiscard]] bool accepts_indent(int64_t start) const;

  FileIndex& index_;
  const Hunk& hunk_;
  const MatchOptions& options_;
  std::vector<std::string_view> pattern_;
  ContextCounts context_;
  bool must_end_file_;
  bool changes_line_ends_;
  HunkPlaces contradicted_;  // the first places that an anchor contradicted
};

/// Maps the indentation of the hunk's old lines to that of the file's lines at `start`.
///
/// If context lines have one blank less than the file, they have probably lost the blank that is
/// their sign, and are ignored. They count if the hunk removes nothing, and the new lines have an
/// indentation of the file only with that blank.
[[nodiscard]] IndentMap indent_at(const Lines& file, const Hunk& hunk, int64_t start);
/// True if a new line has an indentation that the file has before a repair, but not after it.
[[nodiscard]] bool has_lost_indents(const Lines& file, const Hunk& before, const Hunk& after);
/// True if the context has one blank less than the file, and the new lines have or may have one
/// blank less, too.
[[nodiscard]] bool may_lack_blank(const Lines& file, const Hunk& hunk, int64_t start,
                                  bool is_syntax);
/// Why it is uncertain which indentation the new lines of a hunk have at `start`; empty if it is
/// certain. `is_syntax`: indentation is syntax in this file.
[[nodiscard]] std::string_view doubt_of_shift(const Lines& file, const Hunk& hunk, int64_t start,
                                              bool is_syntax);

}  // namespace galley
