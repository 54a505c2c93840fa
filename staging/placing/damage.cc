#include "staging/placing/damage.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
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

namespace {

/// A line number at the beginning of a line.
struct ListedNumber {
  uint64_t number = 0;
  size_t begin = 0;   ///< column of its first digit
  size_t end = 0;     ///< column after its last digit
  size_t length = 0;  ///< with its separator; 0 if it has another one
};

/// Reads a line number with this separator. The end of an empty line may be lost.
std::optional<ListedNumber> listed_number(std::string_view line, std::string_view separator) {
  ListedNumber out;
  if (number_length(line, out.number) == 0) return std::nullopt;
  out.begin = line.find_first_of("0123456789");
  out.end = std::min(line.find_first_not_of("0123456789", out.begin), line.size());
  const std::string_view rest = without_terminator(line.substr(out.end));
  if (rest.starts_with(separator)) out.length = out.end + separator.size();
  if (out.length == 0 && separator.starts_with(rest)) out.length = out.end + rest.size();
  return out;
}

/// The line numbers of the lines of a hunk with one role.
struct ListedLines {
  std::vector<ListedNumber> numbers;
  size_t bare = 0;
  bool has_text_with_number = false;  ///< the text of a line begins with a number itself

  [[nodiscard]] bool has_same(size_t ListedNumber::*column) const {
    return std::all_of(numbers.begin(), numbers.end(), [&](const ListedNumber& one) {
      return one.*column == numbers.front().*column;
    });
  }

  void take(std::string_view line, std::string_view separator) {
    const auto number = listed_number(line, separator);
    if (!number) {
      ++bare;
      return;
    }
    uint64_t inner = 0;
    has_text_with_number =
        has_text_with_number || number_length(line.substr(number->length), inner) > 0;
    numbers.push_back(*number);
  }
};

/// Whether added lines have the line numbers that old ones have. Their text may begin with a
/// number, as keys of YAML do. Nullopt if that is not certain.
std::optional<bool> have_numbers(const ListedLines& added, const ListedLines& old) {
  if (added.numbers.empty()) return false;
  const auto is_of_listing = [&](const ListedNumber& one) {
    const bool is_left = old.has_same(&ListedNumber::begin);
    const bool is_right = old.has_same(&ListedNumber::end);
    return (!is_left && !is_right) || (is_left && one.begin == old.numbers.front().begin) ||
           (is_right && one.end == old.numbers.front().end);
  };
  if (std::none_of(added.numbers.begin(), added.numbers.end(), is_of_listing)) return false;
  if (added.bare > 0 || (old.has_text_with_number && !added.has_text_with_number))
    return std::nullopt;
  return true;
}

}  // namespace

std::optional<Hunk> without_numbers(const Hunk& hunk, std::string_view separator) {
  constexpr uint64_t kMostSkipped = 5000;
  ListedLines old;
  ListedLines added;
  size_t removed = 0;
  size_t removed_bare = 0;
  for (const HunkLine& line : hunk.lines) {
    if (trimmed(without_terminator(line.text)).empty()) continue;
    const size_t bare = old.bare;
    (line.role == LineRole::kAdded ? added : old).take(line.text, separator);
    if (line.role != LineRole::kRemoved) continue;
    ++removed;
    removed_bare += old.bare - bare;
  }
  const bool is_listing =
      old.bare == removed_bare && (removed_bare == 0 || removed_bare == removed);
  if (!is_listing || old.numbers.empty() || old.numbers.size() + removed_bare < 2)
    return std::nullopt;
  const auto has_numbers = have_numbers(added, old);
  if (!has_numbers) return std::nullopt;
  Hunk out = hunk;
  uint64_t last_old = 0;
  uint64_t last_new = 0;
  bool is_first = true;
  uint64_t old_lines = 0;
  for (HunkLine& line : out.lines) {
    const bool is_added = line.role == LineRole::kAdded;
    const bool is_removed = line.role == LineRole::kRemoved;
    const uint64_t lines_before = is_added ? old_lines : old_lines++;
    if (trimmed(without_terminator(line.text)).empty()) continue;
    if ((is_added && !*has_numbers) || (is_removed && removed_bare > 0)) continue;
    const auto listed = listed_number(line.text, separator);
    uint64_t last = is_added ? last_new : last_old;
    if (!is_added && !is_removed) last = std::min(last_old, last_new);
    const uint64_t number = listed->number;
    const bool is_next = number > last || (number == last && (is_first || is_added));
    if (listed->length == 0 || !is_next || number > last + kMostSkipped) return std::nullopt;
    if (!is_removed) last_new = number;
    if (is_first && is_removed) last_new = std::max<uint64_t>(number, 1) - 1;
    if (!is_added) {
      const uint64_t start = number - std::min<uint64_t>(number, lines_before);
      if (is_first && !hunk.has_numbers && start > 0 && start < UINT32_MAX) {
        out.has_numbers = true;
        out.old_start = static_cast<uint32_t>(start);
      }
      last_old = number;
      is_first = false;
    }
    line.text.remove_prefix(std::min(listed->length, without_terminator(line.text).size()));
  }
  return out;
}

std::string_view without_last_blanks(std::string_view text, size_t& count) {
  const Lines lines(text);
  size_t end = lines.size();
  while (end > 0 && trimmed(without_terminator(lines[end - 1])).empty()) --end;
  count = lines.size() - end;
  return lines.span(0, end);
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

// Some models escape the lines that they add, but not those that they copy from the file. In a
// program `a &lt; b` is no text that anybody means, but three things look like it: a text in a
// string or a comment, markup within the program, and the address of a variable `lt`. So an edit
// that has, or may be next to, one of these stays as it is.
namespace {

constexpr std::array<std::string_view, 3> kNames = {"lt", "gt", "amp"};
constexpr std::array<std::string_view, 21> kSources = {
    ".c",  ".cc", ".cpp", ".cxx",   ".h",  ".hh",  ".hpp", ".go",   ".rs", ".java", ".py",
    ".cs", ".kt", ".ts",  ".swift", ".js", ".mjs", ".zig", ".dart", ".sh", ".scala"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_word_sign(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether the text has one of the names of entities as a word.
bool has_name_of_entity(std::string_view text) {
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const size_t end = at + name.size();
      const bool begins = at == 0 || !is_word_sign(text[at - 1]);
      if (begins && (end == text.size() || !is_word_sign(text[end]))) return true;
    }
    return false;
  });
}

bool has_markup(std::string_view text) { return has(text, "</") || has(text, "/>"); }

/// The place of the first or the last entity that is a sign; npos if there is none.
size_t entity_at(std::string_view line, bool is_last) {
  const auto is_entity = [&](size_t at) {
    return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
      const std::string_view rest = line.substr(at + 1);
      return rest.starts_with(name) && rest.substr(name.size()).starts_with(';');
    });
  };
  const auto next = [&](size_t at) {
    return is_last ? (at == 0 ? line.npos : line.rfind('&', at - 1)) : line.find('&', at + 1);
  };
  size_t at = is_last ? line.rfind('&') : line.find('&');
  while (at != line.npos && !is_entity(at)) at = next(at);
  return at;
}

/// Whether a line is a statement, and not prose.
bool is_statement(std::string_view code) {
  constexpr std::array<std::string_view, 5> kBlocks = {"if ", "elif ", "while ", "for ", "with "};
  const bool opens_block = std::any_of(kBlocks.begin(), kBlocks.end(), [&](std::string_view word) {
    return code.starts_with(word);
  });
  const size_t name = std::find_if_not(code.begin(), code.end(), is_word_sign) - code.begin();
  const bool is_call = name > 0 && code.substr(name).starts_with('(') && code.ends_with(')');
  return has(";{}(&|", code.substr(code.size() - 1)) || code.starts_with("return ") ||
         code.starts_with("#include") || has(code, " = ") || has(code, ":=") || is_call ||
         (opens_block && code.ends_with(':'));
}

/// Whether an entity of this line can only be a sign of code: a statement goes on behind the first
/// one, and no string and no comment begins before the last one.
bool is_code(std::string_view line) {
  const size_t first = entity_at(line, false);
  if (first == line.npos) return false;
  const std::string_view before = line.substr(0, entity_at(line, true));
  const std::string_view rest = line.substr(line.find(';', first) + 1);
  for (const char quote : {'"', '\'', '`'}) {
    if (std::count(before.begin(), before.end(), quote) % 2 != 0) return false;
  }
  const std::string plain = without_entities(line);
  const std::string_view code = trimmed(without_terminator(plain));
  const bool is_comment = code.starts_with('*') || has(before, "//") || has(before, "/*") ||
                          (has(before, "#") && !code.starts_with("#include"));
  return !is_comment && !trimmed(rest).empty() && !trimmed(rest).starts_with("//") &&
         is_statement(code);
}

/// What the lines of an edit say about their entities.
struct Evidence {
  bool is_any = false;
  bool is_certain = true;

  void take_new(std::string_view line) {
    is_certain = is_certain && !has_markup(line);
    if (without_entities(line) == line) return;
    is_any = true;
    is_certain = is_certain && is_code(line) && !has_name_of_entity(without_entities(line));
  }
  void take_old(std::string_view line) {
    is_certain = is_certain && without_entities(line) == line;
  }
};

/// Whether a new line may have an entity. Most edits have none, and need no closer look.
bool adds_ampersand(const FileEdit& edit) {
  return std::any_of(edit.hunks.begin(), edit.hunks.end(),
                     [](const Hunk& hunk) {
                       return std::any_of(
                           hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
                             return line.role == LineRole::kAdded && has(line.text, "&");
                           });
                     }) ||
         std::any_of(edit.text_edits.begin(), edit.text_edits.end(),
                     [](const TextEdit& text) { return has(text.new_text, "&"); });
}

Evidence evidence_of(const FileEdit& edit) {
  Evidence out;
  for (const Hunk& hunk : edit.hunks) {
    for (const HunkLine& line : hunk.lines) {
      line.role == LineRole::kAdded ? out.take_new(line.text) : out.take_old(line.text);
    }
  }
  for (const TextEdit& text : edit.text_edits) {
    const Lines lines(text.new_text);
    for (size_t i = 0; i < lines.size(); ++i) out.take_new(lines[i]);
    out.take_old(text.old_text);
  }
  return out;
}

}  // namespace

std::optional<PlainEdit> with_signs(std::string_view content, const FileEdit& edit) {
  const auto is_named = [&](std::string_view ending) { return edit.path.ends_with(ending); };
  if (edit.is_by_program || std::none_of(kSources.begin(), kSources.end(), is_named) ||
      !adds_ampersand(edit)) {
    return std::nullopt;
  }
  const Evidence evidence = evidence_of(edit);
  if (!evidence.is_any || !evidence.is_certain) return std::nullopt;
  if (has_markup(content) || has_name_of_entity(content)) return std::nullopt;
  PlainEdit out{edit, {}};
  const auto keep = [&](std::string_view text) -> std::string_view {
    std::string plain = without_entities(text);
    if (plain == text) return text;
    return *out.texts.emplace_back(std::make_shared<const std::string>(std::move(plain)));
  };
  for (Hunk& hunk : out.edit.hunks) {
    for (HunkLine& line : hunk.lines) line.text = keep(line.text);
  }
  for (TextEdit& text : out.edit.text_edits) text.new_text = keep(text.new_text);
  return out;
}

}  // namespace galley
