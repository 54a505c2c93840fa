#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

namespace galley {

/// The number of a distinct line within one LineTable, counted from 0 in order of first sight.
using LineId = uint32_t;

/// Which white space is ignored when two lines are compared; git's option names.
enum class WhiteSpace : uint8_t {
  kExact,          ///< every byte counts
  kIgnoreAtEol,    ///< --ignore-space-at-eol
  kIgnoreCrAtEol,  ///< --ignore-cr-at-eol
  kIgnoreChange,   ///< -b: runs are equal to any other run, trailing ones to nothing
  kIgnoreAll,      ///< -w
};

/// Gives equal lines equal numbers, so that later steps compare integers.
///
/// Invariant: two lines have the same id exactly when they are equal under the table's WhiteSpace:
///            a hash (XXH3) finds the candidate, then the bytes are compared.
/// Ownership: borrows the lines of kExact; keeps reduced copies otherwise.
/// Threads:   confined to one thread while interning.
class LineTable {
 public:
  static constexpr LineId kNone = UINT32_MAX;

  explicit LineTable(size_t expected_lines = 0, WhiteSpace white_space = WhiteSpace::kExact);

  /// The id of `line`; a new one if the line is new.
  LineId intern(std::string_view line);
  /// The id of `line`, or kNone if it is unknown.
  [[nodiscard]] LineId find(std::string_view line) const;
  /// Ids of lines [begin, end).
  std::vector<LineId> intern_all(const Lines& lines, size_t begin, size_t end);

  /// Lines that were interned here first, and their ids.
  struct KnownLines {
    const Lines& lines;
    size_t begin;
    const std::vector<LineId>& ids;
  };
  /// As intern_all, for lines that mostly repeat those of `like` in order. Each repeated line costs
  /// one comparison with the next line of `like` instead of a hash and a probe.
  std::vector<LineId> intern_like(const Lines& lines, size_t begin, size_t end,
                                  const KnownLines& like);

  /// The number of distinct lines.
  [[nodiscard]] size_t size() const { return entries_.size(); }
  /// The first line that got this id (reduced, unless kExact).
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
  std::vector<Slot> slots_;  // open addressing, a power of two, at most three quarters full
  std::vector<std::string_view> entries_;
  std::deque<std::string> reduced_;
};

/// `line` in the form that is compared under `white_space`; in `storage` unless it is unchanged.
[[nodiscard]] std::string_view reduce_white_space(std::string_view line, WhiteSpace white_space,
                                                  std::string& storage);

}  // namespace galley
