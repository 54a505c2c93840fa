#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {

/// Appends a compared pair with the old lines on the left and the new lines on the right, `width`
/// columns wide. The separator is `│` between equal lines and `|` between changed lines. It is `<`
/// for a removed line and `>` for an added line. A long line continues below.
///
/// The output is for people and cannot be applied: contents are printable (base/printable.h), and
/// tabs are spaces. Of `options`, only colors and links are used.
void append_side_by_side(const FileDiff& diff, const Lines& before, const Lines& after,
                         const DiffOptions& options, size_t width, std::string& out);

/// The columns of a line on a terminal.
[[nodiscard]] size_t columns_of_line(std::string_view line);

/// How removed and added words are marked.
struct WordDiffStyle {
  bool brackets = true;  ///< [-removed-] and {+added+}
  bool color = false;
  bool is_printable = false;  ///< shows contents as in base/printable.h
};

/// Appends the difference of two groups of changed lines word by word, as `git diff --word-diff`
/// does. Words are separated by white space, and the white space of the new text is shown. A word
/// diff is for people and cannot be applied.
void append_word_diff(std::string_view before, std::string_view after, const WordDiffStyle& style,
                      std::string& out);

}  // namespace galley
