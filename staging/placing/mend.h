#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/placing/file_index.h"
#include "staging/placing/place.h"

namespace galley {

/// A hunk that fits nowhere as it is written, with the context that the file has.
struct MendedHunk {
  Hunk hunk;  ///< stands byte for byte at its line number
  /// What was passed over: `lost_markup`, `escaped_markup`, `numbered_lines`, `sign_blank`,
  /// `bare_context`, `elided_context`, `joined_hunks`, `blank_lines` or `context_differs`; perhaps
  /// two of them.
  std::vector<Leniency> leniencies;
  std::vector<std::string_view> old_lines;  ///< those of the hunk, as they were read
};

/// Reads hunks as language models deform them.
///
/// A reading is taken only where one place is left for it, and where it removes and adds the lines
/// of the hunk, no more and no fewer. A line to be removed must be a line of the file but for the
/// deformation.
///
/// Ownership: borrows the index; the lines of a mended hunk live as long as the mender.
class HunkMender {
 public:
  HunkMender(FileIndex& index, const MatchOptions& options);
  ~HunkMender();
  HunkMender(const HunkMender&) = delete;
  HunkMender& operator=(const HunkMender&) = delete;

  /// `only_exact`: only a reading whose lines are those of the file byte for byte.
  [[nodiscard]] std::optional<MendedHunk> mend(const Hunk& hunk, bool only_exact = false);
  /// True when lines of the hunks are in the file only where `&lt;` and its kin are read as signs;
  /// nothing when a line with such is in the file in neither way, and no other line tells.
  [[nodiscard]] std::optional<bool> are_escaped(const std::vector<Hunk>& hunks);
  /// The hunk with signs for entities; nothing when it has none.
  [[nodiscard]] std::optional<MendedHunk> unescaped(const Hunk& hunk);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// `...`, or a comment that says that lines were left out.
[[nodiscard]] bool is_elision(std::string_view line);

}  // namespace galley
