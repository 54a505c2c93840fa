#include "engine/validators/syntax_rule.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/validators/new_findings.h"
#include "staging/text/diff.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

using Kind = SyntaxError::Kind;

constexpr size_t kMaxQuotedBytes = 40;

struct NamedLanguage {
  std::string_view ending;
  SyntaxLanguage language;
};

constexpr std::array kEndings = {
    NamedLanguage{".c", SyntaxLanguage::kC},
    NamedLanguage{".h", SyntaxLanguage::kCHeader},
    NamedLanguage{".cc", SyntaxLanguage::kCpp},
    NamedLanguage{".cpp", SyntaxLanguage::kCpp},
    NamedLanguage{".cxx", SyntaxLanguage::kCpp},
    NamedLanguage{".c++", SyntaxLanguage::kCpp},
    NamedLanguage{".hh", SyntaxLanguage::kCpp},
    NamedLanguage{".hpp", SyntaxLanguage::kCpp},
    NamedLanguage{".hxx", SyntaxLanguage::kCpp},
    NamedLanguage{".h++", SyntaxLanguage::kCpp},
    NamedLanguage{".py", SyntaxLanguage::kPython},
    NamedLanguage{".pyi", SyntaxLanguage::kPython},
    NamedLanguage{".js", SyntaxLanguage::kJavaScript},
    NamedLanguage{".jsx", SyntaxLanguage::kJavaScript},
    NamedLanguage{".mjs", SyntaxLanguage::kJavaScript},
    NamedLanguage{".cjs", SyntaxLanguage::kJavaScript},
    NamedLanguage{".ts", SyntaxLanguage::kTypeScript},
    NamedLanguage{".mts", SyntaxLanguage::kTypeScript},
    NamedLanguage{".cts", SyntaxLanguage::kTypeScript},
    NamedLanguage{".tsx", SyntaxLanguage::kTsx},
    NamedLanguage{".cs", SyntaxLanguage::kCSharp},
};

/// Identifies an error in both texts: its kind and the text of its line.
using ErrorKey = std::pair<Kind, std::string>;

ErrorKey key_of(const Lines& lines, const SyntaxError& error) {
  const size_t line = lines.line_at(error.offset);
  const std::string_view text = line < lines.size() ? lines[line] : std::string_view();
  return {error.kind, std::string(trim(text, kPlainSpaces)) + "\n" + error.expected};
}

/// The errors of `after` that `before` does not have, in order.
std::vector<SyntaxError> fresh_errors(const ParsedText* before, const ParsedText& after,
                                      const Lines& after_lines) {
  std::map<ErrorKey, size_t> known;
  if (before != nullptr) {
    const Lines lines(before->text);
    for (const SyntaxError& error : before->answer.errors) ++known[key_of(lines, error)];
  }
  std::vector<SyntaxError> fresh;
  for (const SyntaxError& error : after.answer.errors) {
    const auto found = known.find(key_of(after_lines, error));
    if (found == known.end() || found->second == 0) {
      fresh.push_back(error);
    } else {
      --found->second;
    }
  }
  return fresh;
}

bool is_hint(const SyntaxError& error) {
  return error.kind == Kind::kOutdented || error.kind == Kind::kIndented;
}
bool is_bracket(const SyntaxError& error) {
  return error.kind == Kind::kUnclosed || error.kind == Kind::kUnopened;
}

/// Chooses the place to report among the new errors of a file.
class PlaceChoice {
 public:
  PlaceChoice(const ParsedText* before, const ParsedText& after, const Lines& lines)
      : text_(after.text),
        lines_(lines),
        ranges_(diff_lines(Lines(before == nullptr ? std::string_view() : before->text), lines)) {}

  [[nodiscard]] const SyntaxError* choose(const std::vector<SyntaxError>& fresh) const {
    const SyntaxError* stop = nullptr;
    for (const SyntaxError& error : fresh) {
      const bool is_stop = error.kind == Kind::kUnexpected || error.kind == Kind::kMissing;
      if (is_stop && (stop == nullptr || error.offset < stop->offset)) stop = &error;
    }
    // The parser never stops before the mistake. So the search ends where the parser stopped.
    const uint32_t bound = stop == nullptr ? static_cast<uint32_t>(text_.size()) : stop->offset;
    const SyntaxError* hint = last_before(bound, fresh, is_hint);
    if (hint != nullptr) return hint;
    if (stop != nullptr && touches_change(stop->offset) && !is_at_end(stop->offset)) return stop;
    const SyntaxError* bracket = last_before(bound, fresh, is_bracket);
    if (bracket != nullptr) return bracket;
    if (stop != nullptr) return stop;
    const auto any = std::find_if(fresh.begin(), fresh.end(), is_bracket);
    return any == fresh.end() ? nullptr : &*any;
  }

 private:
  /// The last error up to a place that the change touches.
  [[nodiscard]] const SyntaxError* last_before(uint32_t bound,
                                               const std::vector<SyntaxError>& fresh,
                                               bool (*is_wanted)(const SyntaxError&)) const {
    const SyntaxError* last = nullptr;
    for (const SyntaxError& error : fresh) {
      if (!is_wanted(error) || error.offset > bound || !touches_change(error.offset)) continue;
      if (last == nullptr || error.offset > last->offset) last = &error;
    }
    return last;
  }
  /// Whether a place is on an added line, or next to a line that was changed or deleted.
  [[nodiscard]] bool touches_change(uint32_t offset) const {
    const size_t line = lines_.line_at(offset);
    return std::any_of(ranges_.begin(), ranges_.end(), [line](const ChangedRange& range) {
      return line + 1 >= range.new_begin && line <= range.new_end;
    });
  }
  [[nodiscard]] bool is_at_end(uint32_t offset) const {
    return trim(text_.substr(offset), kPlainSpaces).empty();
  }

  std::string_view text_;
  const Lines& lines_;
  EditScript ranges_;
};

bool has_macros(SyntaxLanguage language) {
  return language == SyntaxLanguage::kC || language == SyntaxLanguage::kCpp ||
         language == SyntaxLanguage::kCHeader;
}

/// Whether a macro may explain the parser's error: a macro can replace a type, a whole statement or
/// an attribute, or expand to nothing. A macro never explains an unpaired quote.
bool may_be_macro(const SyntaxError& error) {
  return error.kind != Kind::kUnexpected || error.expected.empty();
}

/// Whether the parser stopped at a part of a template that generates text of this language.
bool is_template(std::string_view text, const SyntaxError& error) {
  return text.substr(error.offset, 2) == "<%" || text.substr(error.offset, 2) == "%>";
}

/// Whether a JavaScript text has types, which the grammar does not support.
bool has_flow_types(SyntaxLanguage language, std::string_view text) {
  constexpr size_t kHeadBytes = 4'096;
  return language == SyntaxLanguage::kJavaScript &&
         (text.substr(0, kHeadBytes).find("@flow") != text.npos ||
          text.find("import type ") != text.npos || text.find("$FlowFixMe") != text.npos);
}

std::string message_of(const SyntaxError& error, std::string_view text, const Lines& lines) {
  const std::string_view found =
      text.substr(error.offset, std::min<size_t>(error.end - error.offset, kMaxQuotedBytes));
  const auto bracket = [text](uint32_t at) { return at < text.size() ? text.substr(at, 1) : ""; };
  const auto cause_line = lines.line_at(error.cause) + 1;
  switch (error.kind) {
    case Kind::kUnexpected:
      if (!error.expected.empty()) return fmt::format("`{}` has no partner on its line", found);
      return found.empty() ? "unexpected end of the file" : fmt::format("unexpected `{}`", found);
    case Kind::kMissing:
      return fmt::format("`{}` is missing", error.expected);
    case Kind::kUnclosed:
      return fmt::format("`{}` is never closed", bracket(error.cause));
    case Kind::kUnopened:
      return fmt::format("`{}` closes nothing", bracket(error.cause));
    case Kind::kOutdented:
      return fmt::format("`{}` of line {} seems not to be closed before this `{}`",
                         bracket(error.cause), cause_line, bracket(error.offset));
    case Kind::kIndented:
      return fmt::format("nothing seems to be opened here for `{}` of line {}",
                         bracket(error.cause), cause_line);
  }
  return "a syntax error";
}

}  // namespace

std::optional<SyntaxLanguage> syntax_language(std::string_view path, std::string_view text) {
  // Qt's translation files end in .ts too.
  if (path.ends_with(".ts") && trim(text.substr(0, 100), kPlainSpaces).starts_with("<")) return {};
  for (const NamedLanguage& one : kEndings) {
    if (path.ends_with(one.ending)) return one.language;
  }
  return {};
}

std::optional<SyntaxComplaint> broken_syntax(SyntaxLanguage language, const ParsedText* before,
                                             const ParsedText& after) {
  const Lines lines(after.text);
  std::vector<SyntaxError> fresh = fresh_errors(before, after, lines);
  if (before == nullptr) {
    std::erase_if(fresh, [](const SyntaxError& error) { return error.in_one_reading; });
  }
  const bool breaks_brackets = std::any_of(fresh.begin(), fresh.end(), is_bracket);
  if (!breaks_brackets) {
    // The number of errors did not grow: they moved with the changed lines.
    if (before != nullptr && after.answer.errors.size() <= before->answer.errors.size()) return {};
    if (has_macros(language) || has_flow_types(language, after.text)) {
      std::erase_if(fresh, may_be_macro);
    }
  }
  const auto begins_template = [&](const SyntaxError& one) { return is_template(after.text, one); };
  if (std::any_of(fresh.begin(), fresh.end(), begins_template)) return {};
  if (fresh.empty()) return {};
  const SyntaxError* error = PlaceChoice(before, after, lines).choose(fresh);
  if (error == nullptr) return {};
  return SyntaxComplaint{error->offset, error->end, message_of(*error, after.text, lines)};
}

}  // namespace galley
