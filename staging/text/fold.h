#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// How two lines are compared when one is searched for in a file; each step ignores more than the
/// last.
enum class LineFolding : uint8_t {
  kBytes,       ///< every byte, the terminator too
  kLineEnds,    ///< without the terminator
  kBlanks,      ///< without white space at the ends, inner runs as one blank
  kTypography,  ///< as kBlanks; typographic quotes, dashes and blanks as ASCII
};

/// `line` in the form that is compared under `fold`; a view into `line` or `storage`.
[[nodiscard]] std::string_view folded(std::string_view line, LineFolding fold,
                                      std::string& storage);

/// Whether a line is a telling line: it has a letter, a digit or a byte beyond ASCII.
[[nodiscard]] bool is_telling_line(std::string_view line);

/// The ASCII equivalent of the typographic quote, dash or blank at the beginning of `text`, and its
/// length in bytes; a length of 0 for any other character.
[[nodiscard]] std::pair<char, size_t> ascii_equivalent(std::string_view text);

/// The identifiers and numbers of a line, in order.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// The white space at the beginning of a line.
[[nodiscard]] std::string_view indent_of(std::string_view line);

/// The terminator of a line: "\n", "\r\n", "\r" or "".
[[nodiscard]] std::string_view terminator_of(std::string_view line);

/// Maps the indentation of a pre-image to that of the place where it was found.
///
/// Built from pairs of equal lines; then it re-indents new lines.
class IndentMap {
 public:
  void add(std::string_view pattern_line, std::string_view file_line);
  /// Whether one prefix was added or removed everywhere, or tabs and blanks exchanged at one ratio.
  [[nodiscard]] bool is_uniform() const;
  [[nodiscard]] bool is_identity() const;
  /// `line` with its indentation mapped. Blank lines stay unchanged, except for a prefix that was
  /// removed everywhere.
  [[nodiscard]] std::string carry(std::string_view line) const;
  /// "+  " or "-\t" for reports; empty for the identity or when there is more than one prefix.
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] std::optional<std::string> added_prefix() const;
  [[nodiscard]] std::optional<std::string> removed_prefix() const;
  /// Blanks per tab when one side uses tabs and the other blanks; otherwise 0.
  [[nodiscard]] size_t tab_ratio(bool to_tabs) const;

  std::vector<std::pair<std::string, std::string>> pairs_;  // distinct; from pattern to file
  bool has_conflict_ = false;
};

}  // namespace galley
