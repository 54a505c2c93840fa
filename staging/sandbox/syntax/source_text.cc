#include "staging/sandbox/syntax/source_text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace galley {
namespace {

/// An `#if` with its branches.
struct Choice {
  bool was_shown = false;  ///< one of its branches has been shown
  bool is_shown = false;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view first_word(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

class Blanker {
 public:
  Blanker(std::string_view text, Conditionals shown)
      : text_(text), out_(text), shows_defined_(shown == Conditionals::kAllDefined) {}

  std::string run() && {
    bool is_in_comment = false;
    for (size_t begin = 0; begin < text_.size();) {
      size_t end = end_of_line(begin);
      const size_t first = text_.find_first_not_of(" \t", begin);
      if (!is_in_comment && first < end && text_[first] == '#') {
        end = end_of_directive(begin);
        take_directive(text_.substr(first + 1, end - first - 1), end);
        blank(begin, end);
      } else {
        if (is_hidden()) blank(begin, end);
        is_in_comment = ends_in_comment(text_.substr(begin, end - begin), is_in_comment);
      }
      begin = end;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] size_t end_of_line(size_t begin) const {
    return std::min(text_.find('\n', begin), text_.size() - 1) + 1;
  }

  /// The end of the directive's last line: a backslash or an open comment continues it.
  [[nodiscard]] size_t end_of_directive(size_t begin) const {
    bool is_in_comment = false;
    while (true) {
      const size_t end = end_of_line(begin);
      const std::string_view line = text_.substr(begin, end - begin);
      is_in_comment = ends_in_comment(line, is_in_comment);
      const size_t last = line.find_last_not_of("\r\n");
      const bool goes_on = is_in_comment || (last != line.npos && line[last] == '\\');
      if (!goes_on || end == text_.size()) return end;
      begin = end;
    }
  }

  /// Strings are skipped, because they may contain text that looks like a comment.
  static bool ends_in_comment(std::string_view line, bool is_in_comment) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (is_in_comment) {
        const size_t end = line.find("*/", i);
        if (end == line.npos) return true;
        is_in_comment = false;
        i = end + 1;
      } else if (line.substr(i, 2) == "//") {
        return false;
      } else if (line.substr(i, 2) == "/*") {
        is_in_comment = true;
        ++i;
      } else if (line[i] == '"') {
        i = end_of_string(line, i);
      }
    }
    return is_in_comment;
  }

  static size_t end_of_string(std::string_view line, size_t quote) {
    for (size_t i = quote + 1; i < line.size(); ++i) {
      if (line[i] == '\\') {
        ++i;
      } else if (line[i] == '"') {
        return i;
      }
    }
    return line.size();
  }

  void take_directive(std::string_view directive, size_t end) {
    const std::string_view name = first_word(directive);
    const std::string_view rest =
        directive.substr(static_cast<size_t>(name.data() + name.size() - directive.data()));
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      const bool is_shown = holds(name, rest, end);
      choices_.push_back({is_shown, is_shown});
    } else if (choices_.empty()) {
      return;
    } else if (name.starts_with("elif") || name == "else") {
      Choice& choice = choices_.back();
      choice.is_shown = !choice.was_shown && (name == "else" || holds("if", rest, end));
      choice.was_shown = choice.was_shown || choice.is_shown;
    } else if (name == "endif") {
      choices_.pop_back();
    }
  }

  [[nodiscard]] bool holds(std::string_view name, std::string_view rest, size_t end) const {
    const std::string_view word = first_word(rest);
    if (name == "ifdef") return shows_defined_ && word != "__cplusplus";
    if (name == "ifndef") return !shows_defined_ || is_guard(word, end);
    if (word == "0" || word == "1") return word == "1";
    const size_t first = rest.find_first_not_of(" \t");
    const bool is_negated = first != rest.npos && rest[first] == '!';
    return is_negated ? !shows_defined_ || is_guard_expression(rest, end) : shows_defined_;
  }

  /// Whether the first line of the branch defines the undefined macro. This is an include guard,
  /// and the branch is the whole file.
  [[nodiscard]] bool is_guard(std::string_view word, size_t end) const {
    const size_t next = text_.find_first_not_of(" \t\r\n", end);
    if (next == text_.npos || text_[next] != '#') return false;
    const std::string_view line = text_.substr(next + 1, end_of_line(next) - next - 1);
    const std::string_view name = first_word(line);
    return name == "define" &&
           first_word(line.substr(static_cast<size_t>(name.data() + name.size() - line.data()))) ==
               word;
  }
  [[nodiscard]] bool is_guard_expression(std::string_view rest, size_t end) const {
    const size_t open = rest.find_first_of("( \t", rest.find("defined") + 1);
    return rest.find("defined") != rest.npos && open != rest.npos &&
           is_guard(first_word(rest.substr(open + 1)), end);
  }

  [[nodiscard]] bool is_hidden() const {
    return std::any_of(choices_.begin(), choices_.end(),
                       [](const Choice& choice) { return !choice.is_shown; });
  }

  void blank(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (out_[i] != '\n' && out_[i] != '\r') out_[i] = ' ';
    }
  }

  std::string_view text_;
  std::string out_;
  bool shows_defined_;
  std::vector<Choice> choices_;
};

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

using Kind = SyntaxError::Kind;

constexpr uint32_t kTabColumns = 8;
constexpr size_t kMaxUnclosed = 1'000;   // between two partners
constexpr size_t kMaxLinesBack = 2'000;  // searched for the line that lost its bracket

/// An open bracket whose partner was not found yet, and the indentation of its statement.
struct Opener {
  char bracket = 0;
  uint32_t offset = 0;
  uint32_t indent = 0;
};

class DelimiterScan {
 public:
  explicit DelimiterScan(std::string_view text) : text_(text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(i + 1);
    }
  }

  void take(const DelimiterToken& token) {
    switch (token.kind) {
      case DelimiterToken::Kind::kOpen:
        return open(token);
      case DelimiterToken::Kind::kClose:
        return close(token);
      case DelimiterToken::Kind::kIf:
        return choices_.push_back(stack_);
      case DelimiterToken::Kind::kElse:
        if (!choices_.empty()) stack_ = choices_.back();
        return;
      case DelimiterToken::Kind::kEndIf:
        if (!choices_.empty()) choices_.pop_back();
        return;
    }
  }

  std::vector<SyntaxError> finish() && {
    for (const Opener& opener : stack_) add_unclosed(opener);
    if (faults_.empty()) return {};
    const auto has = [this](Kind kind) {
      return std::any_of(faults_.begin(), faults_.end(),
                         [kind](const SyntaxError& fault) { return fault.kind == kind; });
    };
    const bool has_unclosed = has(Kind::kUnclosed);
    const bool has_unopened = has(Kind::kUnopened);
    for (const SyntaxError& hint : hints_) {
      if (hint.kind == Kind::kOutdented ? has_unclosed : has_unopened) faults_.push_back(hint);
    }
    return std::move(faults_);
  }

 private:
  [[nodiscard]] size_t line_begin(size_t offset) const {
    return *std::prev(std::upper_bound(lines_.begin(), lines_.end(), offset));
  }
  [[nodiscard]] uint32_t indent_of_line(size_t begin) const {
    uint32_t columns = 0;
    for (size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == ' ') {
        ++columns;
      } else if (text_[i] == '\t') {
        columns += kTabColumns - columns % kTabColumns;
      } else {
        break;
      }
    }
    return columns;
  }
  [[nodiscard]] bool begins_line(size_t offset) const {
    const std::string_view head = text_.substr(line_begin(offset), offset - line_begin(offset));
    return head.find_first_not_of(" \t") == std::string_view::npos;
  }

  void open(const DelimiterToken& token) {
    const size_t begin = line_begin(token.offset);
    uint32_t indent = indent_of_line(begin);
    // A bracket that opened on an earlier line and closed on this one shows where the statement
    // began.
    if (last_closed_at_ >= begin && last_closed_at_ < token.offset) {
      indent = std::min(indent, last_closed_indent_);
    }
    stack_.push_back({token.bracket, token.offset, indent});
  }

  /// Returns the number of open brackets down to the partner of a closing bracket; 0 if the partner
  /// does not exist.
  [[nodiscard]] size_t partner_of(char bracket) const {
    const size_t last = stack_.size() - std::min(stack_.size(), kMaxUnclosed);
    for (size_t match = stack_.size(); match > last; --match) {
      if (stack_[match - 1].bracket == bracket) return match;
      if (stack_[match - 1].bracket == '{') return 0;  // only a brace closes a block
    }
    return 0;
  }

  void close(const DelimiterToken& token) {
    const size_t match = partner_of(token.bracket);
    if (match == 0) return add_unopened(token);
    while (stack_.size() > match) {
      add_unclosed(stack_.back());
      stack_.pop_back();
    }
    const Opener opener = stack_.back();
    stack_.pop_back();
    last_closed_at_ = token.offset;
    last_closed_indent_ = opener.indent;
    compare_indents(opener, token);
  }

  void add_unopened(const DelimiterToken& token) {
    if (faults_.size() >= kMaxSyntaxErrors) return;
    faults_.push_back({Kind::kUnopened, token.offset, token.offset + 1, token.offset, {}});
    if (begins_line(token.offset)) {
      add_indented(token, 0, indent_of_line(line_begin(token.offset)));
    }
    if (!stack_.empty()) add_outdented(stack_.back(), token.offset);
  }

  /// Reports the open bracket, or the place where it should have been closed if it begins a block.
  void add_outdented(const Opener& opener, uint32_t closer) {
    const size_t next = text_.find_first_not_of(" \t\r", opener.offset + 1);
    const bool begins_block = next == std::string_view::npos || text_[next] == '\n';
    const uint32_t place = begins_block ? closer : opener.offset;
    hints_.push_back({Kind::kOutdented, place, place + 1, opener.offset, {}});
  }

  void add_unclosed(const Opener& opener) {
    if (faults_.size() >= kMaxSyntaxErrors) return;
    faults_.push_back({Kind::kUnclosed, opener.offset, opener.offset + 1, opener.offset, {}});
  }

  void compare_indents(const Opener& opener, const DelimiterToken& closer) {
    if (line_begin(opener.offset) == line_begin(closer.offset) || !begins_line(closer.offset) ||
        hints_.size() >= kMaxSyntaxErrors) {
      return;
    }
    const uint32_t indent = indent_of_line(line_begin(closer.offset));
    if (indent < opener.indent) {
      add_outdented(opener, closer.offset);
    } else if (indent > opener.indent) {
      add_indented(closer, opener.offset, indent);
    }
  }

  /// Finds the last line before the closer with the indentation of the missing opener.
  void add_indented(const DelimiterToken& closer, uint32_t first_offset, uint32_t indent) {
    size_t begin = line_begin(closer.offset);
    for (size_t i = 0; i < kMaxLinesBack && begin > first_offset; ++i) {
      begin = line_begin(begin - 1);
      const size_t first = text_.find_first_not_of(" \t", begin);
      const bool is_blank = first == std::string_view::npos || text_[first] == '\n' ||
                            text_[first] == '\r' || text_[first] == '#';
      if (is_blank || indent_of_line(begin) > indent) continue;
      const size_t end = std::min(text_.find('\n', first), text_.size());
      hints_.push_back({Kind::kIndented,
                        static_cast<uint32_t>(first),
                        static_cast<uint32_t>(end),
                        closer.offset,
                        {}});
      return;
    }
  }

  std::string_view text_;
  std::vector<size_t> lines_ = {0};  // the beginning of each line
  std::vector<Opener> stack_;
  std::vector<std::vector<Opener>> choices_;
  std::vector<SyntaxError> faults_;
  std::vector<SyntaxError> hints_;
  size_t last_closed_at_ = 0;
  uint32_t last_closed_indent_ = 0;
};

}  // namespace

std::string blank_conditionals(std::string_view text, Conditionals shown) {
  return Blanker(text, shown).run();
}

std::string with_known_types(std::string_view text) {
  std::string out(text);
  name_imports(out);
  blank_second(out, "export", "type", "*");
  blank_first(out, "global", "{");
  blank_second(out, "keyof", "readonly", "");
  return out;
}

std::vector<SyntaxError> delimiter_errors(std::string_view text,
                                          const std::vector<DelimiterToken>& tokens) {
  DelimiterScan scan(text);
  for (const DelimiterToken& token : tokens) scan.take(token);
  return std::move(scan).finish();
}

}  // namespace galley
