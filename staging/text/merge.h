#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// Lines [begin, end), counted from 0.
struct LineRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  [[nodiscard]] uint32_t size() const { return end - begin; }
  bool operator==(const LineRange&) const = default;
};

/// Which side a piece of a merge comes from.
enum class MergeSide : uint8_t {
  kNeither,   ///< unchanged on both sides
  kOurs,      ///< changed by us alone
  kTheirs,    ///< changed by them alone
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

/// How conflicts are written out.
enum class ConflictStyle : uint8_t {
  kMerge,  ///< ours and theirs; lines that both share are outside the markers
  kDiff3,  ///< ours, base and theirs
};

/// A three-way merge as a value: every line of every text is in exactly one piece, in order.
struct Merge {
  std::vector<MergePiece> pieces;
  size_t conflicts = 0;

  [[nodiscard]] bool is_clean() const { return conflicts == 0; }
  bool operator==(const Merge&) const = default;
};

/// Merges two descendants of `base` line by line. Changes merge when at least one unchanged line is
/// between them; adjacent ones conflict, as in `git merge-file`. Equal changes become one.
[[nodiscard]] Merge merge_lines(const Lines& base, const Lines& ours, const Lines& theirs);

/// The text of a merge without conflicts; calling it for one with conflicts is a bug.
[[nodiscard]] std::string merged_text(const Merge& merge, const Lines& base, const Lines& ours,
                                      const Lines& theirs);

struct ConflictMarkers {
  ConflictStyle style = ConflictStyle::kMerge;
  std::string ours = "ours";
  std::string base = "base";
  std::string theirs = "theirs";
};

/// The text with conflicts between markers, as `git merge-file` prints it; markers use the line
/// ending of the lines around them.
[[nodiscard]] std::string text_with_markers(const Merge& merge, const Lines& base,
                                            const Lines& ours, const Lines& theirs,
                                            const ConflictMarkers& markers = {});

}  // namespace galley
