#pragma once

#include <string>
#include <string_view>

namespace galley {

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
