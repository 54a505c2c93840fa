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

/// The repaired form of a hunk that does not fit as it was written.
struct MendedHunk {
  Hunk hunk;
  /// The mistakes that were accepted, at most two: `lost_markup`, `escaped_markup`,
  /// `numbered_lines`, `sign_blank`, `bare_context`, `elided_context`, `joined_hunks`,
  /// `blank_lines` or `context_differs`.
  std::vector<Leniency> leniencies;
  std::vector<std::string_view> old_lines;  ///< the hunk's old lines, as they were read
  bool is_whole = false;  ///< all of its lines were found together, as those of a hunk that fits
};

/// Repairs hunks with typical mistakes of language models.
///
/// A reading is accepted only if it has exactly one place, and if it removes and adds exactly the
/// lines of the hunk. A line to remove must be a line of the file, apart from the repaired mistake.
///
/// Ownership: borrows the index. The lines of a mended hunk are valid as long as the mender.
class HunkMender {
 public:
  HunkMender(FileIndex& index, const MatchOptions& options);
  ~HunkMender();
  HunkMender(const HunkMender&) = delete;
  HunkMender& operator=(const HunkMender&) = delete;

  /// Returns the hunk in the first reading that has exactly one place. `only_exact`: only line ends
  /// may differ from the file, and the hunk as it was written does not count.
  [[nodiscard]] std::optional<MendedHunk> mend(const Hunk& hunk, bool only_exact = false);
  /// Whether entities such as `&lt;` stand for characters in these hunks. The first old line with
  /// entities that the file has decides: true if the file has it only without entities. Returns
  /// nothing if the file has no such line in either form.
  [[nodiscard]] std::optional<bool> are_escaped(const std::vector<Hunk>& hunks);
  /// Returns the hunk with characters in place of entities; nothing if there are none.
  [[nodiscard]] std::optional<MendedHunk> unescaped(const Hunk& hunk);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace galley
