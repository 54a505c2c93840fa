#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/fold.h"
#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// The lines of one file, found by their content under each LineFolding.
///
/// Invariant: the index of a fold is built when it is first asked for, in time linear in the file.
/// Ownership: borrows the content. Threads: confined to one thread.
class FileIndex {
 public:
  explicit FileIndex(std::string_view content) : lines_(content) {}

  [[nodiscard]] const Lines& lines() const { return lines_; }

  /// Starts of places (0-based lines) where `pattern` stands, ascending, at most `limit`.
  [[nodiscard]] std::vector<uint32_t> find(const std::vector<std::string_view>& pattern,
                                           LineFolding fold, size_t limit);
  /// The first line from `from` on that equals `line`; -1 when there is none.
  [[nodiscard]] int64_t next_line(std::string_view line, LineFolding fold, int64_t from);
  /// True when `pattern` stands at line `start`; needs no index.
  [[nodiscard]] bool stands_at(const std::vector<std::string_view>& pattern, int64_t start,
                               LineFolding fold) const;
  /// The place that most of the pattern's rarer lines point to, and how many do; the runner-up's
  /// count beside it.
  struct Nearest {
    int64_t start = -1;
    uint32_t votes = 0;
    uint32_t rival_votes = 0;
    /// The same, of a place that a few lines put in or taken out have torn apart.
    uint32_t torn_rival_votes = 0;
  };
  [[nodiscard]] Nearest nearest(const std::vector<std::string_view>& pattern, LineFolding fold,
                                int64_t expected);

 private:
  struct Index {
    explicit Index(size_t lines) : table(lines) {}
    LineTable table;
    std::deque<std::string> storage;
    std::vector<uint32_t> ids;       // of each line of the file
    std::vector<uint32_t> first;     // where the places of an id begin in `places`
    std::vector<uint32_t> places;    // lines by id, ascending
    std::vector<uint32_t> suffixes;  // lines sorted by what follows; built when work piles up
    uint64_t work = 0;
  };
  Index& index(LineFolding fold);
  static void build_suffixes(Index& index);
  static std::vector<uint32_t> find_long(const Index& index, const std::vector<uint32_t>& ids,
                                         size_t limit);
  static std::vector<uint32_t> find_by_suffixes(const Index& index,
                                                const std::vector<uint32_t>& ids, size_t limit);

  Lines lines_;
  std::array<std::unique_ptr<Index>, 4> indexes_;
};

}  // namespace galley
