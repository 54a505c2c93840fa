#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// How two lines are compared when one is looked for in a file; each is coarser than the last.
enum class LineFolding : uint8_t {
  kBytes,       ///< every byte, the terminator too
  kLineEnds,    ///< without the terminator
  kBlanks,      ///< without white space at the ends, inner runs as one blank
  kTypography,  ///< as kBlanks, and typographic quotes, dashes and blanks as their ASCII kin
};

/// `line` as it is compared under `fold`; a view into `line` or `storage`.
[[nodiscard]] std::string_view folded(std::string_view line, LineFolding fold,
                                      std::string& storage);

/// True when the line holds a letter, a digit or a byte beyond ASCII: something that tells it
/// apart.
[[nodiscard]] bool bears_identity(std::string_view line);

/// The ASCII kin of the typographic quote, dash or blank that `text` begins with, and its length in
/// bytes; a length of 0: it begins with another character.
[[nodiscard]] std::pair<char, size_t> ascii_kin(std::string_view text);

/// The identifiers and numbers of a line, in order.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// The white space that a line begins with.
[[nodiscard]] std::string_view indent_of(std::string_view line);

/// The terminator of a line: "\n", "\r\n", "\r" or "".
[[nodiscard]] std::string_view terminator_of(std::string_view line);

/// How the indentation of a pre-image maps to that of the place where it was found.
///
/// Built from pairs of equal lines; then carries new lines over.
class IndentMap {
 public:
  void add(std::string_view pattern_line, std::string_view file_line);
  /// One prefix was added or removed everywhere, or tabs and blanks exchanged at one ratio.
  [[nodiscard]] bool is_uniform() const;
  [[nodiscard]] bool is_identity() const;
  /// `line` with its indentation carried over; blank lines stay as they are, but for a prefix that
  /// was removed everywhere.
  [[nodiscard]] std::string carry(std::string_view line) const;
  /// "+  " or "-\t" for reports; empty for the identity or when it is not one prefix.
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] std::optional<std::string> added_prefix() const;
  [[nodiscard]] std::optional<std::string> removed_prefix() const;
  /// Blanks a tab stands for when one side uses tabs and the other blanks; 0 when that is not so.
  [[nodiscard]] size_t tab_ratio(bool to_tabs) const;

  std::vector<std::pair<std::string, std::string>> pairs_;  // distinct, pattern to file
  bool has_conflict_ = false;
};

}  // namespace galley
