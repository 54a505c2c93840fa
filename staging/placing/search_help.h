#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/placing/place.h"

namespace galley {

/// Maximum number of bytes and table cells that are compared for all failed edits of one document.
inline constexpr uint64_t kMaxSimilarityWork = uint64_t{64} << 20U;
/// Maximum number of bytes of the wanted line that are compared, and of a similar line that are
/// shown.
inline constexpr size_t kMaxComparedBytes = 256;
inline constexpr size_t kMaxComparedLineBytes = 1024;  ///< maximum compared bytes of a file's line
/// Maximum number of lines of a file that are compared character by character for one failed edit.
inline constexpr size_t kMaxComparedLines = 64;

/// Suggests what a search text that is not in the file could mean: the most similar lines, or the
/// same text without pasted line numbers or a pasted prompt.
///
/// Threads: confined to one thread. One object is used for all files of a document, which share its
///          limit.
class SearchHelp {
 public:
  /// Adds suggestions to the failures `patch.context_not_found` of edits of `content`. If the
  /// content is empty, only their messages are completed.
  void explain(std::string_view content, std::vector<EditFailure>& failures);

 private:
  uint64_t work_ = 0;
};

}  // namespace galley
