#include "engine/history/three_way.h"

#include <utility>

#include "staging/printing/git_diff.h"
#include "staging/text/merge.h"

namespace galley {
namespace {

FileMerge misfit(std::string reason, std::string message) {
  FileMerge merge;
  merge.reason = std::move(reason);
  merge.message = std::move(message);
  return merge;
}

/// Both sides changed the bytes.
FileMerge merge_content(const FileSides& sides, const RebaseOptions& options, const Node& node) {
  const Lines base(*sides.base_bytes);
  const Lines found(*sides.found_bytes);
  const Lines wanted(*sides.wanted_bytes);
  const Merge lines = merge_lines(base, found, wanted);
  FileMerge merge;
  merge.node = node;
  if (lines.is_clean()) {
    merge.bytes = merged_text(lines, base, found, wanted);
  } else if (options.mode == MergeMode::kMarkers) {
    merge.bytes = text_with_markers(
        lines, base, found, wanted,
        {ConflictStyle::kDiff3, options.found_label, options.base_label, options.wanted_label});
    merge.markers = static_cast<uint32_t>(lines.conflicts);
  } else {
    merge.reason = "conflict.lines";
    merge.message = "was changed since in the same lines (" + std::to_string(lines.conflicts) +
                    (lines.conflicts == 1 ? " place)" : " places)");
    for (const MergePiece& piece : lines.pieces) {
      if (piece.side != MergeSide::kConflict) continue;
      merge.hunks.push_back({piece.ours.begin + 1,
                             std::string(base.span(piece.base.begin, piece.base.end)),
                             std::string(found.span(piece.ours.begin, piece.ours.end)),
                             std::string(wanted.span(piece.theirs.begin, piece.theirs.end))});
    }
    return merge;
  }
  merge.node.content = ContentId::of(merge.bytes);
  merge.node.size = merge.bytes.size();
  return merge;
}

}  // namespace

FileMerge merge_file(const FileSides& sides, const RebaseOptions& options) {
  FileMerge merge;
  merge.node = sides.found;
  if (sides.found.mode == sides.base.mode) {
    merge.node.mode = sides.wanted.mode;
  } else if (sides.wanted.mode != sides.base.mode && sides.wanted.mode != sides.found.mode) {
    return misfit("conflict.mode", "has another mode since, and another one is wanted");
  }
  const bool found_is_base = sides.found.content == sides.base.content;
  const bool wanted_is_base = sides.wanted.content == sides.base.content;
  if (found_is_base || sides.found.content == sides.wanted.content) {
    merge.node.content = sides.wanted.content;
    merge.node.size = sides.wanted.size;
    return merge;
  }
  if (wanted_is_base) return merge;
  if (options.mode == MergeMode::kExact) return misfit("conflict.changed", "was changed since");
  const bool is_binary = looks_binary(*sides.base_bytes) || looks_binary(*sides.found_bytes) ||
                         looks_binary(*sides.wanted_bytes);
  if (is_binary) return misfit("conflict.binary", "is binary and was changed since");
  return merge_content(sides, options, merge.node);
}

}  // namespace galley
