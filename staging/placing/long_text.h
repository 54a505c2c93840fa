#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "staging/formats/edit_set.h"
#include "staging/text/lines.h"

namespace galley {

/// Knows where a file has texts of several lines: heredocs and texts in triple quotes. There,
/// indentation is content. The language is not known, so a heredoc counts only if the line that
/// ends it exists.
///
/// Ownership: borrows the file's content. Threads: immutable.
class LongTexts {
 public:
  /// Takes time linear in the size of the file.
  explicit LongTexts(const Lines& file);

  /// True if the hunk, placed at line `start`, adds lines in such a text.
  [[nodiscard]] bool is_added_to(const Hunk& hunk, int64_t start) const;

  /// What ends the text in which a line begins; empty if it begins in none.
  struct State {
    std::string_view end = {};
    bool is_heredoc = false;

    bool operator==(const State&) const = default;
  };

 private:
  std::unordered_map<std::string_view, size_t> last_;  // the last line of each content
  std::vector<std::pair<size_t, State>> changes_;      // by line: the state from there on
};

}  // namespace galley
