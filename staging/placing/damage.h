#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// The length of a line number at the beginning of a line, with its separator: `  80\t`, `80|`,
/// `80: `, `80→`; 0 if there is none. An empty line may end after its number. `number` gets its
/// value. `takes_blank`: a blank alone separates, too.
[[nodiscard]] size_t number_length(std::string_view line, uint64_t& number,
                                   bool takes_blank = false);

/// What may stand between a line number and its line.
inline constexpr std::array<std::string_view, 8> kNumberSeparators = {"\t", " | ", " |", "|",
                                                                      "| ", ": ",  ":",  "\u2192"};

/// Minimum number of telling lines that prove a place although their line numbers are others.
inline constexpr size_t kNumberOutweighed = 3;

/// Returns the text without line numbers, if all its lines have one with this separator, each by
/// one higher than the line before. `first` gets the number of the first line.
[[nodiscard]] std::optional<std::string> without_listing(std::string_view text,
                                                         std::string_view separator,
                                                         uint64_t& first);

/// Returns the hunk without ascending line numbers, if all its context lines have one with this
/// separator, and also its removed lines, or none of them, and its added lines, or none of them.
/// Removed lines have numbers of the old file, added lines those of the new one, and context of
/// either. The first old line states the place of a hunk that states none.
[[nodiscard]] std::optional<Hunk> without_numbers(const Hunk& hunk, std::string_view separator);

/// True if the line is `original` with other blanks, quotes or dashes, with a line number before
/// it, or with its signs escaped as in HTML.
[[nodiscard]] bool is_damaged_copy(std::string_view line, std::string_view original);

/// Returns the text without the blank lines at its end. `count` gets their number.
[[nodiscard]] std::string_view without_last_blanks(std::string_view text, size_t& count);

/// Whether all escape sequences of a new text were meant as characters, if those of the old one
/// were: none is inside quotes or escaped itself, and both texts write line breaks in one way.
[[nodiscard]] bool has_certain_escapes(std::string_view old_text, std::string_view new_text);
/// The text with characters in place of escape sequences. `joins`: an escaped line break before a
/// real one is the same line break.
[[nodiscard]] std::string unescaped(std::string_view text, bool joins);

/// The characters of a line that HTML may remove, and the other characters without blanks.
struct Markup {
  std::string signs;
  std::string rest;
};
[[nodiscard]] Markup markup_of(std::string_view line);
/// True if `part` is `whole` without some characters.
[[nodiscard]] bool is_subsequence(std::string_view part, std::string_view whole);

/// True for `...`, or for a comment which says that lines were left out.
[[nodiscard]] bool is_elision(std::string_view line);

/// An edit with `<`, `>` and `&` in its new lines, where it has them escaped as in HTML.
///
/// Ownership: keeps the texts of the new lines; the others are those of the original edit.
struct PlainEdit {
  FileEdit edit;
  std::vector<std::shared_ptr<const std::string>> texts;
};

/// Reads the entities in new lines of a program's source as signs, if they cannot be meant: the old
/// lines and the file have no entities and no markup, and no entity is in a string or a comment.
/// Returns nullopt for any other edit.
[[nodiscard]] std::optional<PlainEdit> with_signs(std::string_view content, const FileEdit& edit);

}  // namespace galley
