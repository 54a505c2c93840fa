#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "staging/placing/place.h"

namespace galley {

/// Bytes and table cells that one document's failed edits are compared with in all.
inline constexpr uint64_t kMaxSimilarityWork = uint64_t{64} << 20U;
/// Bytes of a line that are compared, of the one looked for and of those in the file.
inline constexpr size_t kMaxComparedBytes = 256;
inline constexpr size_t kMaxComparedLineBytes = 1024;
/// Lines of a file that are compared character by character for one failed edit.
inline constexpr size_t kMaxComparedLines = 64;

/// Says what may have been meant by search texts that stand nowhere: the lines that are most alike,
/// character by character, or the same text without the line numbers or prompt that were pasted
/// with it.
///
/// Threads: confined to one thread. One object serves all files of a document: it has the budget.
class SearchHelp {
 public:
  /// Completes the failures `patch.context_not_found` of edits that were placed on `content`; with
  /// an empty content only their messages.
  void explain(std::string_view content, std::vector<EditFailure>& failures);

 private:
  uint64_t work_ = 0;
};

}  // namespace galley
