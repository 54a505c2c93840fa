#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/fold.h"
#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// The lines of one file, with a search by content under each LineFolding.
///
/// Invariant: the index of a fold is built at its first use, in time linear in the file.
/// Ownership: borrows the content. Threads: confined to one thread.
class FileIndex {
 public:
  /// `indentation_is_meaning`: in such a language a line of one word and a colon opens a block. In
  /// other languages it is a label.
  explicit FileIndex(std::string_view content, bool indentation_is_meaning = false)
      : lines_(content), indentation_is_meaning_(indentation_is_meaning) {}

  [[nodiscard]] const Lines& lines() const { return lines_; }

  /// The first lines (0-based) of places that match `pattern`, ascending, at most `limit`.
  [[nodiscard]] std::vector<uint32_t> find(const std::vector<std::string_view>& pattern,
                                           LineFolding fold, size_t limit);
  /// All lines that equal `line`, ascending; valid as long as the index.
  [[nodiscard]] std::span<const uint32_t> lines_like(std::string_view line, LineFolding fold);
  /// True when `pattern` matches at line `start`; needs no index.
  [[nodiscard]] bool matches_at(const std::vector<std::string_view>& pattern, int64_t start,
                                LineFolding fold) const;
  /// The place that most of the pattern's rarer lines point to, with the number of these lines and
  /// the number for the second best place.
  struct Nearest {
    int64_t start = -1;
    uint32_t votes = 0;
    uint32_t rival_votes = 0;
    /// The same for a second best place that a few inserted or removed lines have torn apart.
    uint32_t torn_rival_votes = 0;
  };
  [[nodiscard]] Nearest nearest(const std::vector<std::string_view>& pattern, LineFolding fold,
                                int64_t expected);

  /// The blocks of the file by indentation. Only lines with a letter or digit count. Comments,
  /// labels and preprocessor lines do not, since they are often at column 0.
  struct Outline {
    std::vector<int32_t> outer;  ///< the nearest less indented counted line above; -1: none
    std::vector<bool> counts;
    std::vector<bool> opens;  ///< the next counted line is indented more

    /// True when `line` is in the block that line `outer_line` opens.
    [[nodiscard]] bool is_inside(int64_t line, int64_t outer_line) const;
  };
  [[nodiscard]] const Outline& outline();

 private:
  struct Index {
    explicit Index(size_t lines) : table(lines) {}
    LineTable table;
    std::deque<std::string> storage;
    std::vector<uint32_t> ids;       // of each line of the file
    std::vector<uint32_t> first;     // the start of an id's places in `places`
    std::vector<uint32_t> places;    // lines by id, ascending
    std::vector<uint32_t> suffixes;  // lines sorted by the text from there; built after much work
    uint64_t work = 0;
  };
  Index& index(LineFolding fold);
  static void build_suffixes(Index& index);
  static std::vector<uint32_t> find_long(const Index& index, const std::vector<uint32_t>& ids,
                                         size_t limit);
  static std::vector<uint32_t> find_by_suffixes(const Index& index,
                                                const std::vector<uint32_t>& ids, size_t limit);

  Lines lines_;
  bool indentation_is_meaning_;
  std::array<std::unique_ptr<Index>, 4> indexes_;
  std::unique_ptr<Outline> outline_;
};

}  // namespace galley
