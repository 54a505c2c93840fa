#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// The number of a distinct line in one LineTable, from 0 in order of the first occurrence.
using LineId = uint32_t;

/// Which white space is ignored in the comparison of two lines. The names are those of git's
/// options.
enum class WhiteSpace : uint8_t {
  kExact,          ///< every byte counts
  kIgnoreAtEol,    ///< --ignore-space-at-eol
  kIgnoreCrAtEol,  ///< --ignore-cr-at-eol
  kIgnoreChange,   ///< -b: all runs are equal; runs at the end are ignored
  kIgnoreAll,      ///< -w
};

/// Assigns equal numbers to equal lines, so that later steps compare integers.
///
/// Invariant: two lines have the same id exactly if they are equal under the table's WhiteSpace. A
///            hash (XXH3) finds the candidate, and then the bytes are compared.
/// Ownership: borrows the lines under kExact; otherwise it keeps reduced copies.
/// Threads:   confined to one thread while interning.
class LineTable {
 public:
  static constexpr LineId kNone = UINT32_MAX;

  explicit LineTable(size_t expected_lines = 0, WhiteSpace white_space = WhiteSpace::kExact);

  /// Returns the id of `line`, a new one if the line is new.
  LineId intern(std::string_view line);
  /// Returns the id of `line`, or kNone if the line is unknown.
  [[nodiscard]] LineId find(std::string_view line) const;
  /// Returns the ids of lines [begin, end).
  std::vector<LineId> intern_all(const Lines& lines, size_t begin, size_t end);

  /// Lines that were already interned in this table, and their ids.
  struct KnownLines {
    const Lines& lines;
    size_t begin;
    const std::vector<LineId>& ids;
  };
  /// As intern_all(), for lines that mostly repeat those of `like` in order. Each repeated line
  /// costs only one comparison with the next line of `like`, without a hash and a look-up.
  std::vector<LineId> intern_like(const Lines& lines, size_t begin, size_t end,
                                  const KnownLines& like);

  /// The number of distinct lines.
  [[nodiscard]] size_t size() const { return entries_.size(); }
  /// The first line with this id; reduced, unless under kExact.
  [[nodiscard]] std::string_view line(LineId id) const { return entries_[id]; }

 private:
  struct Slot {
    uint32_t hash = 0;
    LineId id = kNone;
  };
  size_t probe(std::string_view key, uint32_t hash) const;
  LineId intern_key(std::string_view key, uint32_t hash, const std::string* storage);
  void grow();

  WhiteSpace white_space_;
  std::vector<Slot> slots_;  // open addressing; a power of two; at most 3/4 full
  std::vector<std::string_view> entries_;
  std::deque<std::string> reduced_;
};

/// Returns `line` in the form that is compared under `white_space`. It is in `storage` unless it is
/// unchanged.
[[nodiscard]] std::string_view reduce_white_space(std::string_view line, WhiteSpace white_space,
                                                  std::string& storage);

}  // namespace galley
