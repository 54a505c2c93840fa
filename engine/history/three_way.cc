#include "engine/history/three_way.h"

#include <utility>

#include "staging/text/git_diff.h"

namespace galley {
namespace {

FileMerge misfit(std::string reason, std::string message) {
  FileMerge merge;
  merge.reason = std::move(reason);
  merge.message = std::move(message);
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
  return misfit("conflict.lines", "was changed since in the same lines");
}

}  // namespace galley
