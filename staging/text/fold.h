#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// How lines are compared in a search. Each value ignores more than the one before.
enum class LineFolding : uint8_t {
  kBytes,       ///< compares every byte, also the terminator
  kLineEnds,    ///< ignores the terminator
  kBlanks,      ///< also ignores white space at both ends; inner runs count as one blank
  kTypography,  ///< also treats typographic quotes, dashes and blanks as ASCII
  kNoBlanks,    ///< ignores the terminator and all white space
};
inline constexpr size_t kLineFoldings = 5;

/// Returns `line` in the form that is compared under `fold`, as a view of `line` or `storage`.
[[nodiscard]] std::string_view folded(std::string_view line, LineFolding fold,
                                      std::string& storage);

/// True for a telling line: it has a letter, a digit or a byte beyond ASCII.
[[nodiscard]] bool is_telling_line(std::string_view line);

/// The ASCII equivalent of the typographic quote, dash or blank at the start of `text`, and the
/// length of that character in bytes. The length is 0 for any other character.
[[nodiscard]] std::pair<char, size_t> ascii_equivalent(std::string_view text);

/// The identifiers and numbers of a line, in order.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// The white space at the start of a line.
[[nodiscard]] std::string_view indent_of(std::string_view line);

/// The terminator of a line: "\n", "\r\n", "\r" or "".
[[nodiscard]] std::string_view terminator_of(std::string_view line);

/// Maps the indentation of a pre-image to that of its place in the file.
///
/// It is built from pairs of matching lines, and then changes the indentation of new lines. The
/// pairs also show which of the file's blanks each typographic blank of the pre-image stands for,
/// and the other way round.
class IndentMap {
 public:
  void add(std::string_view pattern_line, std::string_view file_line);
  /// Whether all pairs have the same shift: one prefix was added or removed, or tabs and blanks
  /// were exchanged at one ratio.
  [[nodiscard]] bool is_uniform() const;
  [[nodiscard]] bool is_identity() const;
  /// Returns `line` with the mapped indentation. Blank lines stay unchanged, except that a removed
  /// prefix is removed from them, too.
  [[nodiscard]] std::string carry(std::string_view line) const;
  /// False if it is unknown which of the file's blanks the indentation of `line` stands for.
  [[nodiscard]] bool can_carry(std::string_view line) const;
  /// A map that exchanges the same blanks without a shift.
  [[nodiscard]] IndentMap without_shift() const;
  /// The same with the shift of the old lines that have the indentation of `line`, if it is one.
  [[nodiscard]] IndentMap with_shift_of(std::string_view line) const;
  /// True if the old lines with the indentation of `line`, of which there must be some, have the
  /// same indentation in the file.
  [[nodiscard]] bool keeps(std::string_view line) const;
  /// True if an old line has the indentation of `line`.
  [[nodiscard]] bool is_of_the_edit(std::string_view line) const;
  /// True if the file's line for some old line has the indentation of `line`.
  [[nodiscard]] bool is_of_the_file(std::string_view line) const;
  /// The shift for reports, such as "+  " or "-\t". Empty if nothing changes or the shift is not
  /// one prefix.
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] std::optional<std::string> added_prefix() const;
  [[nodiscard]] std::optional<std::string> removed_prefix() const;
  /// Blanks per tab if one side uses tabs and the other blanks; otherwise 0.
  [[nodiscard]] size_t tab_ratio(bool to_tabs) const;

  void learn(std::string_view from, std::string_view to);
  void learn_sign(std::string_view from, std::string_view to);
  [[nodiscard]] std::string in_file_signs(std::string_view line) const;

  struct Pair {
    std::string pattern;
    std::string first;  ///< the pattern's indentation in the file's blanks
    std::string second;
    bool is_open = false;  ///< lines of this pattern have other indentations in the file
  };
  std::vector<Pair> pairs_;                   // distinct patterns
  std::map<std::string, std::string> signs_;  // blank of the pattern to the file's; empty: unclear
  bool has_conflict_ = false;
  bool is_scaled_ = false;  // the file has more or fewer of such blanks than the pattern
};

}  // namespace galley
