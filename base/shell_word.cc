#include "base/shell_word.h"

namespace galley {

std::string shell_word(std::string_view text) {
  if (!text.empty() && text.find_first_not_of(kPlainInShell) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace galley
