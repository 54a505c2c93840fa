#include "staging/placing/damage.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {

size_t number_length(std::string_view line, uint64_t& number, bool takes_blank) {
  constexpr size_t kMaxDigits = 7;
  const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  const size_t end = std::min(line.find_first_not_of("0123456789", first), line.size());
  if (end == first || end - first > kMaxDigits) return 0;
  number = 0;
  for (size_t i = first; i < end; ++i) number = number * 10 + static_cast<uint64_t>(line[i] - '0');
  const std::string_view rest = line.substr(end);
  for (const std::string_view separator : kNumberSeparators) {
    if (rest.starts_with(separator)) return end + separator.size();
  }
  if (trimmed(rest).empty()) return end;
  return takes_blank && rest.starts_with(' ') ? end + 1 : 0;
}

std::optional<std::string> without_listing(std::string_view text, std::string_view separator,
                                           uint64_t& first) {
  std::string out;
  uint64_t last = 0;
  const Lines lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = without_terminator(lines[i]);
    uint64_t number = 0;
    if (number_length(line, number) == 0) return std::nullopt;
    const size_t end = line.find_first_not_of("0123456789", line.find_first_not_of(" \t"));
    const std::string_view rest = line.substr(std::min(end, line.size()));
    // The end of an empty line may be lost.
    if (!rest.starts_with(separator) && !separator.starts_with(rest)) return std::nullopt;
    if (i == 0) first = number;
    if (i > 0 && number != last + 1) return std::nullopt;
    last = number;
    out += lines[i].substr(line.size() - rest.size() + std::min(separator.size(), rest.size()));
  }
  return lines.size() == 0 ? std::nullopt : std::optional(std::move(out));
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

bool has_certain_escapes(std::string_view old_text, std::string_view new_text) {
  const auto has_break = [](std::string_view text) {
    return text.substr(0, text.size() - (text.ends_with('\n') ? 1 : 0)).find('\n') !=
           std::string_view::npos;
  };
  if (new_text.find('\\') == std::string_view::npos) return true;
  if (has_break(new_text) && !has_break(old_text)) return false;
  bool is_quoted = false;
  bool has_other_quote = false;
  bool has_blank = false;
  for (size_t i = 0; i < new_text.size(); ++i) {
    if (new_text[i] == '"') is_quoted = !is_quoted;
    has_other_quote = has_other_quote || new_text[i] == '\'' || new_text[i] == '`';
    if (new_text[i] != '\\') continue;
    const char next = i + 1 < new_text.size() ? new_text[++i] : '\\';
    if (is_quoted || next == '\\') return false;
    has_blank = has_blank || next == 'n' || next == 't' || next == 'r';
  }
  return !has_other_quote || !has_blank;
}

std::string unescaped(std::string_view text, bool joins) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const bool is_twice = rest.starts_with("\\r\\n") ||
                          (joins && (rest.starts_with("\\n\n") || rest.starts_with("\\r\n")));
    if (is_twice) {
      ++i;
      continue;
    }
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const char meant = next == 'n' ? '\n' : next == 't' ? '\t' : next == '"' ? '"' : '\0';
    out.push_back(meant == '\0' ? text[i] : meant);
    i += meant == '\0' ? 0 : 1;
  }
  return out;
}

Markup markup_of(std::string_view line) {
  Markup out;
  for (const char c : without_terminator(line)) {
    if (c == ' ' || c == '\t') continue;
    (c == '<' || c == '>' || c == '&' ? out.signs : out.rest).push_back(c);
  }
  return out;
}

bool is_subsequence(std::string_view part, std::string_view whole) {
  size_t at = 0;
  for (const char c : whole) {
    if (at < part.size() && part[at] == c) ++at;
  }
  return at == part.size();
}

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
