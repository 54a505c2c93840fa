#include "staging/sandbox/syntax/known_types.h"

#include <algorithm>

namespace galley {
namespace {

constexpr std::string_view kImport = "import(";
constexpr std::string_view kTypeSpaces = " \t";

/// Replaces `import("x")` with a name of the same length.
void name_imports(std::string& text) {
  for (size_t at = text.find(kImport); at != text.npos; at = text.find(kImport, at + 1)) {
    const size_t quote = at + kImport.size();
    if (quote >= text.size() || (text[quote] != '"' && text[quote] != '\'')) continue;
    const size_t end = text.find_first_of("\"'\n", quote + 1);
    if (end == text.npos || text[end] != text[quote] || text.substr(end + 1, 1) != ")") continue;
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at + kImport.size() - 1),
              text.begin() + static_cast<std::ptrdiff_t>(end + 2), '_');
  }
}

/// Blanks a word at the beginning of a line if `after` follows it.
void blank_first(std::string& text, std::string_view word, std::string_view after) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t last = at == 0 ? text.npos : text.find_last_not_of(kTypeSpaces, at - 1);
    const size_t next = text.find_first_not_of(kTypeSpaces, at + word.size());
    const bool begins_line = last == text.npos || text[last] == '\n';
    if (begins_line && next != text.npos && text.compare(next, after.size(), after) == 0) {
      text.replace(at, word.size(), word.size(), ' ');
    }
  }
}

/// Blanks the second of two adjacent words if `after` follows it.
void blank_second(std::string& text, std::string_view first, std::string_view second,
                  std::string_view after) {
  for (size_t at = text.find(first); at != text.npos; at = text.find(first, at + 1)) {
    const size_t word = text.find_first_not_of(kTypeSpaces, at + first.size());
    if (word == text.npos || word == at + first.size()) continue;
    if (text.compare(word, second.size(), second) != 0) continue;
    const size_t next = text.find_first_not_of(kTypeSpaces, word + second.size());
    const bool follows = next != text.npos && text.compare(next, after.size(), after) == 0;
    if (follows) text.replace(word, second.size(), second.size(), ' ');
  }
}

}  // namespace

std::string with_known_types(std::string_view text) {
  std::string out(text);
  name_imports(out);
  blank_second(out, "export", "type", "*");
  blank_first(out, "global", "{");
  blank_second(out, "keyof", "readonly", "");
  return out;
}

}  // namespace galley
