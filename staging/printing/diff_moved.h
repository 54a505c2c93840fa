#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "staging/printing/git_diff.h"
#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// Finds lines that were removed in one place and added in another, in all files of a diff
/// (`git diff --color-moved`, modes plain and zebra).
///
/// Ownership: borrows the texts of all added files until find() returns.
class MovedLineFinder {
 public:
  explicit MovedLineFinder(MovedLines mode) : mode_(mode) {}

  /// Adds a file's removed and added lines, in the order in which they are printed.
  void add(const FileDiff& diff, const Lines& before, const Lines& after);
  /// Returns the marks of the removed and added lines, in the order in which they were added.
  [[nodiscard]] MovedMarks find();

 private:
  enum class Kind : uint8_t { kRemoved, kAdded, kOther };
  struct Entry {
    Kind kind;
    LineId id;
    uint32_t letters;  // letters and digits in the line, at most the minimum for a block
  };
  void add_line(Kind kind, std::string_view line);
  void index();
  [[nodiscard]] const std::vector<uint32_t>& opposite(const Entry& entry) const;
  bool keep_block(size_t end, size_t length);
  void mark_plain();
  void mark_blocks();
  void continue_candidates(const Entry& entry);

  MovedLines mode_;
  LineTable table_;
  std::vector<Entry> entries_;
  std::vector<MovedMark> marks_;
  std::vector<std::vector<uint32_t>> removed_at_;  // by id: indexes of entries
  std::vector<std::vector<uint32_t>> added_at_;
  std::vector<uint32_t> candidates_;  // the last entries of possible copies of the block
};

}  // namespace galley
