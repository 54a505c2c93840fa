#include "staging/sandbox/syntax/conditionals.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
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

}  // namespace

std::string blank_conditionals(std::string_view text, Conditionals shown) {
  return Blanker(text, shown).run();
}

}  // namespace galley
