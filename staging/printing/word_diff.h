#pragma once

#include <string>
#include <string_view>

namespace galley {

/// How the pieces of a word diff are marked.
struct WordDiffStyle {
  bool brackets = true;  ///< [-removed-] and {+added+}
  bool color = false;
  bool is_printable = false;  ///< contents as base/printable.h shows them
};

/// Appends the difference of two runs of changed lines word by word, as in `git diff --word-diff`.
/// Words are separated by white space; white space itself is taken from the new text. A word diff
/// is for people: it cannot be applied.
void append_word_diff(std::string_view before, std::string_view after, const WordDiffStyle& style,
                      std::string& out);

}  // namespace galley
