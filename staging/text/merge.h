#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// Lines [begin, end), 0-based.
struct LineRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] uint32_t size() const { return end - begin; }
  bool operator==(const LineRange&) const = default;
};

/// The side from which a piece of a merge comes.
enum class MergeSide : uint8_t {
  kNeither,   ///< unchanged on both sides
  kOurs,      ///< changed only by us
  kTheirs,    ///< changed only by them
  kBoth,      ///< the same change on both sides
  kConflict,  ///< different changes of the same or of adjacent lines
};

/// One piece of a merge, as line ranges of the three texts.
struct MergePiece {
  MergeSide side = MergeSide::kNeither;
  LineRange base;
  LineRange ours;
  LineRange theirs;

  bool operator==(const MergePiece&) const = default;
};

/// How conflicts are printed.
enum class ConflictStyle : uint8_t {
  kMerge,  ///< ours and theirs; common lines are outside of the markers
  kDiff3,  ///< ours, base and theirs
};

/// A three-way merge as a value. Every line of each text is in exactly one piece, in order.
struct Merge {
  std::vector<MergePiece> pieces;
  size_t conflicts = 0;

  [[nodiscard]] bool is_clean() const { return conflicts == 0; }
  bool operator==(const Merge&) const = default;
};

/// Merges two descendants of `base` line by line. As in `git merge-file`, changes are merged if at
/// least one unchanged line is between them; adjacent changes conflict. Equal changes are made
/// once.
[[nodiscard]] Merge merge_lines(const Lines& base, const Lines& ours, const Lines& theirs);

/// The text of a merge, which must not have conflicts.
[[nodiscard]] std::string merged_text(const Merge& merge, const Lines& base, const Lines& ours,
                                      const Lines& theirs);

struct ConflictMarkers {
  ConflictStyle style = ConflictStyle::kMerge;
  std::string ours = "ours";
  std::string base = "base";
  std::string theirs = "theirs";
};

/// The text with conflicts between markers, as `git merge-file` prints it. Markers have the line
/// ends of the lines around them.
[[nodiscard]] std::string text_with_markers(const Merge& merge, const Lines& base,
                                            const Lines& ours, const Lines& theirs,
                                            const ConflictMarkers& markers = {});

}  // namespace galley
