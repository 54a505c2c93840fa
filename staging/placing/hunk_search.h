#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/place.h"

namespace galley {

/// Places of one hunk at the first step that has any.
struct HunkPlaces {
  MatchStep step = MatchStep::kExact;
  LineFolding fold = LineFolding::kBytes;
  /// Where the pre-image's first line falls, ascending, 0-based; with fuzz it may be outside the
  /// file.
  std::vector<int64_t> starts;
  uint32_t fuzz = 0;
  size_t drop_leading = 0;  ///< context lines left out, where fuzz > 0
  size_t drop_trailing = 0;
  bool is_cut = false;       ///< there are more places than were kept
  bool is_doubtful = false;  ///< one place, but the evidence does not single it out
  /// Why it is not certain what the new lines are; empty: it is. To choose a place settles nothing.
  std::string_view doubt;
  /// One place, where context lines were left out that nothing there accounts for: only the line
  /// number can vouch for it.
  bool is_unexplained = false;
  /// The number of an anchor that speaks against all of them; a later step found no other place.
  std::optional<size_t> anchor_against;
};

/// Looks for one hunk in one file, step by step.
///
/// Two places at the first step that has any are returned both: that is for the caller to judge.
class HunkSearch {
 public:
  HunkSearch(FileIndex& index, const Hunk& hunk, const MatchOptions& options);

  /// True when the hunk stands byte for byte at its stated place.
  [[nodiscard]] bool matches_at_stated_line() const;
  [[nodiscard]] HunkPlaces find();
  /// The 0-based line that the header states; -1 when it states none.
  [[nodiscard]] int64_t stated() const;
  [[nodiscard]] const std::vector<std::string_view>& pattern() const { return pattern_; }

  static constexpr size_t kMaxPlaces = 200;  ///< places kept of one hunk; more are as good as none

 private:
  HunkPlaces find_by_steps();
  HunkPlaces full(LineFolding fold, MatchStep step);
  [[nodiscard]] size_t max_fuzz() const;
  void find_reduced(size_t lead, size_t trail, HunkPlaces& places, std::set<int64_t>& starts);
  HunkPlaces fuzzy();
  HunkPlaces folded_steps();
  HunkPlaces without_pattern() const;
  [[nodiscard]] bool changes_to_what_is_there();
  [[nodiscard]] bool accepts_line_ends(int64_t start, size_t drop_leading,
                                       size_t drop_trailing) const;
  [[nodiscard]] bool is_done_at(int64_t start, LineFolding fold) const;
  void weigh_fuzz(HunkPlaces& places);
  [[nodiscard]] bool adds_what_is_there(const HunkPlaces& places) const;
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
  bool must_end_file_ = false;
  bool changes_line_ends_ = false;
  HunkPlaces contradicted_;  // of the first step that has places that an anchor speaks against
};

/// The indentation that the hunk's lines have at `start` beside the one they were written with. A
/// context line with a blank too few has lost the one that stands for its sign; it says nothing.
[[nodiscard]] IndentMap indent_at(const Lines& file, const Hunk& hunk, int64_t start);
/// True where all old lines have one blank more than the file's and the new lines do not show
/// whether they have it, too: it may be one that was put behind the sign of the context alone.
[[nodiscard]] bool is_doubtful_shift(const IndentMap& indent, const Hunk& hunk);

}  // namespace galley
