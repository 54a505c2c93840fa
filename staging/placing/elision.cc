#include "staging/placing/elision.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {

bool is_elision(std::string_view line) {
  std::string_view text = trimmed(without_terminator(line));
  if (text == "..." || text == "\u2026" || text == "[...]") return true;
  static constexpr std::array<std::string_view, 8> kComments = {"//",   "#", "/*", "--",
                                                                "<!--", ";", "%",  "{/*"};
  const bool is_comment =
      std::any_of(kComments.begin(), kComments.end(),
                  [&](std::string_view mark) { return text.starts_with(mark); });
  if (!is_comment || text.size() < 4) return false;
  static constexpr std::array<std::string_view, 18> kSays = {
      "...",           "\u2026",          "rest of",         "unchanged",        "existing code",
      "omitted",       "remaining",       "remain the same", "remains the same", "same as before",
      "same as above", "in the original", "no changes here", "keep as is",       "kept as is",
      "left as is",    "for brevity",     "not shown"};
  static constexpr std::array<std::string_view, 7> kSaysAlone = {
      "snip", "etc", "same", "as above", "as before", "no change", "no changes"};
  const std::string lower = to_lower(text);
  const std::string_view alone = trim(lower, " \t/*#<>!-;%{}()[].");
  return std::any_of(
             kSays.begin(), kSays.end(),
             [&](std::string_view says) { return lower.find(says) != std::string::npos; }) ||
         std::find(kSaysAlone.begin(), kSaysAlone.end(), alone) != kSaysAlone.end();
}

}  // namespace galley
