#include "staging/placing/damage.h"

#include <algorithm>
#include <array>
#include <utility>

#include "staging/formats/dialect_marks.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {

std::string without_entities(std::string_view line) {
  static constexpr std::array<std::pair<std::string_view, char>, 7> kEntities = {
      {{"&lt;", '<'},
       {"&gt;", '>'},
       {"&amp;", '&'},
       {"&quot;", '"'},
       {"&#39;", '\''},
       {"&#x27;", '\''},
       {"&apos;", '\''}}};
  std::string out;
  for (size_t at = 0; at < line.size();) {
    size_t length = 0;
    for (const auto& [entity, c] : kEntities) {
      if (!line.substr(at).starts_with(entity)) continue;
      out.push_back(c);
      length = entity.size();
      break;
    }
    if (length == 0) out.push_back(line[at++]);
    at += length;
  }
  return out;
}

size_t number_length(std::string_view line, uint64_t& number) {
  constexpr size_t kMaxDigits = 7;
  const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_not_of("0123456789", first), line.size());
  if (end == first || end - first > kMaxDigits) return 0;
  number = 0;
  for (size_t i = first; i < end; ++i) number = number * 10 + static_cast<uint64_t>(line[i] - '0');
  const std::string_view rest = line.substr(end);
  for (const std::string_view separator : {"\t", " | ", "|", ": ", ":", "\u2192"}) {
    if (rest.starts_with(separator)) return end + separator.size();
  }
  return trimmed(rest).empty() ? end : 0;
}

bool is_damaged_copy(std::string_view line, std::string_view original) {
  std::string one;
  std::string other;
  const auto equals = [&](std::string_view text, LineFolding fold) {
    return folded(text, fold, one) == folded(original, fold, other);
  };
  const auto without_end = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  };
  if (!is_telling_line(line) || without_end(line) == without_end(original)) return false;
  uint64_t number = 0;
  const size_t length = number_length(line, number);
  return equals(line, LineFolding::kTypography) ||
         equals(without_entities(line), LineFolding::kBlanks) ||
         (length > 0 && equals(line.substr(length), LineFolding::kBlanks));
}

}  // namespace galley
