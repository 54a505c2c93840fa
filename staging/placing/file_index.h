#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "staging/placing/long_text.h"
#include "staging/text/fold.h"
#include "staging/text/intern.h"
#include "staging/text/lines.h"

namespace galley {

/// Finds lines of one file by their content, under each LineFolding.
///
/// Invariant: the index of a folding is built at its first use, in time linear in the size of the
///            file.
/// Ownership: borrows the content. Threads: confined to one thread.
class FileIndex {
 public:
  /// Maximum number of lines that may_compare_all() permits to compare.
  static constexpr size_t kMostCompared = 400'000;

  /// `indentation_is_syntax`: indentation is syntax in the file's language. Then a line of one
  /// word and a colon opens a block; otherwise it is a label.
  explicit FileIndex(std::string_view content, bool indentation_is_syntax = false)
      : lines_(content), indentation_is_meaning_(indentation_is_syntax) {}
  FileIndex(const FileIndex&) = delete;
  FileIndex& operator=(const FileIndex&) = delete;

  [[nodiscard]] const Lines& lines() const { return lines_; }

  /// The first lines (0-based) of the places that match `pattern`, ascending, at most `limit`.
  [[nodiscard]] std::vector<uint32_t> find(const std::vector<std::string_view>& pattern,
                                           LineFolding fold, size_t limit);
  /// All lines that equal `line`, ascending. The result is valid as long as this object.
  [[nodiscard]] std::span<const uint32_t> lines_like(std::string_view line, LineFolding fold);
  /// True if `pattern` matches at line `start`. Does not build an index.
  [[nodiscard]] bool matches_at(const std::vector<std::string_view>& pattern, int64_t start,
                                LineFolding fold) const;
  /// The place to which most of the pattern's telling lines point. A line that is frequent in the
  /// file does not count. `votes` is the number of lines for the best place, `rival_votes` for the
  /// second best.
  struct Nearest {
    int64_t start = -1;
    uint32_t votes = 0;
    uint32_t rival_votes = 0;
    /// Votes for the second best place, if places that are a few inserted or removed lines apart
    /// count as one.
    uint32_t torn_rival_votes = 0;
  };
  [[nodiscard]] Nearest nearest(const std::vector<std::string_view>& pattern, LineFolding fold,
                                int64_t expected);

  /// The blocks of the file by indentation. Only telling lines count, without comments, labels and
  /// preprocessor lines, which are often at column 0.
  struct Outline {
    std::vector<int32_t> outer;  ///< the nearest counted line above with less indentation; -1: none
    std::vector<bool> counts;
    std::vector<bool> opens;  ///< the next counted line has more indentation

    /// True if `line` is in the block that line `outer_line` opens.
    [[nodiscard]] bool is_inside(int64_t line, int64_t outer_line) const;
  };
  [[nodiscard]] const Outline& outline();
  [[nodiscard]] const LongTexts& long_texts();
  /// The file without its blank lines.
  struct Squeezed {
    FileIndex& index;
    const std::vector<int64_t>& lines;  ///< the line of the file for each line of `index`
  };
  [[nodiscard]] Squeezed squeezed();
  /// The lines with characters that HTML may remove, by their rest (markup_of()).
  using LinesByRest = std::unordered_map<std::string, std::vector<std::string_view>>;
  [[nodiscard]] const LinesByRest& lines_with_markup();
  /// Whether all lines may be compared once more, which the index does not make fast. This work is
  /// limited for the lifetime of the index.
  [[nodiscard]] bool may_compare_all();

 private:
  struct Index {
    explicit Index(size_t lines) : table(lines) {}
    LineTable table;
    std::deque<std::string> storage;
    std::vector<uint32_t> ids;       // of each line of the file
    std::vector<uint32_t> first;     // by id: where its lines begin in `places`
    std::vector<uint32_t> places;    // lines sorted by id, then ascending
    std::vector<uint32_t> suffixes;  // suffix array over ids; built after much work
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
  std::array<std::unique_ptr<Index>, kLineFoldings> indexes_;
  std::unique_ptr<Outline> outline_;
  std::unique_ptr<LongTexts> long_texts_;
  std::string squeezed_text_;
  std::unique_ptr<FileIndex> squeezed_;
  std::vector<int64_t> unsqueezed_;
  std::unique_ptr<LinesByRest> lines_with_markup_;
  size_t compared_ = 0;
};

/// Whether a line has nothing but blanks.
[[nodiscard]] bool is_blank_text(std::string_view line);

/// Whether a line is a comment, in most languages.
[[nodiscard]] bool is_comment(std::string_view line);

/// Whether a line heads a section of an INI or TOML file: `[main]`.
[[nodiscard]] bool is_section_head(std::string_view line);

}  // namespace galley
