#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/placing/place.h"

namespace galley {

/// The most bytes and table cells compared for all failed edits of one document.
inline constexpr uint64_t kMaxSimilarityWork = uint64_t{64} << 20U;
/// Compared bytes of a line, both of the wanted one and of those in the file.
inline constexpr size_t kMaxComparedBytes = 256;
inline constexpr size_t kMaxComparedLineBytes = 1024;  ///< bytes of a line that are compared
/// The most lines of a file that are compared character by character for one failed edit.
inline constexpr size_t kMaxComparedLines = 64;

/// Suggests the meaning of search texts that the file does not have: the most similar lines,
/// character by character, or the same text without pasted line numbers or a pasted prompt.
///
/// Threads: confined to one thread. One object serves all files of a document, and has its budget.
class SearchHelp {
 public:
  /// Completes the failures `patch.context_not_found` of edits that were placed on `content`. With
  /// an empty content it completes only their messages.
  void explain(std::string_view content, std::vector<EditFailure>& failures);

 private:
  uint64_t work_ = 0;
};

}  // namespace galley
