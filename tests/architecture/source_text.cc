#include "tests/architecture/source_text.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace galley::architecture {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Blanks [from, to) but keeps line breaks.
void blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

size_t end_of_quoted(const std::string& text, size_t at) {
  const char quote = text[at];
  size_t i = at + 1;
  while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

size_t end_of_raw_string(const std::string& text, size_t quote) {
  const size_t open = text.find('(', quote);
  if (open == std::string::npos) return text.size();
  const std::string close = ")" + text.substr(quote + 1, open - quote - 1) + "\"";
  const size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

/// Blanks preprocessor lines with their continuations: macros have unbalanced braces.
std::string without_preprocessor(std::string text) {
  size_t start = 0;
  bool in_directive = false;
  while (start < text.size()) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const size_t first = text.find_first_not_of(" \t", start);
    const bool is_directive = in_directive || (first < end && text[first] == '#');
    in_directive = is_directive && end > start && text[end - 1] == '\\';
    if (is_directive) blank(text, start, end);
    start = end + 1;
  }
  return text;
}

enum class Scope { kNamespace, kType, kFunction, kInitialiser, kOther };

/// Returns what an opening brace opens, judged by the text before it.
Scope scope_of(const std::string& head, Scope outer) {
  static const std::regex space_name(R"((^|\s)(namespace\b|extern\s*$))");
  static const std::regex type_name(R"(\b(class|struct|union|enum)\b[^()=]*$)");
  if (outer != Scope::kNamespace && outer != Scope::kType) return Scope::kOther;
  // `member_{1}` of a constructor: the formatter puts a space before every body.
  if (!head.empty() && (is_word(head.back()) || head.back() == '>')) return Scope::kInitialiser;
  if (std::regex_search(head, space_name)) return Scope::kNamespace;
  if (head.find('(') != std::string::npos && head.find_last_not_of(" \n\t") != std::string::npos) {
    const char last = head[head.find_last_not_of(" \n\t")];
    if (last != '=' && last != ',' && last != '(') return Scope::kFunction;
  }
  if (std::regex_search(head, type_name)) return Scope::kType;
  return Scope::kOther;
}

}  // namespace

std::string without_comments_and_literals(std::string_view source) {
  std::string text(source);
  size_t i = 0;
  while (i < text.size()) {
    size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(text, i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      const size_t close = text.find("*/", i + 2);
      end = close == std::string::npos ? text.size() : close + 2;
      blank(text, i, end);
    } else if (text[i] == '"') {
      const bool is_raw = i > 0 && text[i - 1] == 'R' && (i < 2 || !is_word(text[i - 2]));
      end = is_raw ? end_of_raw_string(text, i) : end_of_quoted(text, i);
      blank(text, i + 1, end - 1);
    } else if (text[i] == '\'' && (i == 0 || !is_word(text[i - 1]))) {
      end = end_of_quoted(text, i);
      blank(text, i + 1, end - 1);
    }
    i = end;
  }
  return text;
}

std::vector<Include> includes_of(std::string_view source) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  std::istringstream lines{std::string(source)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) {
      found.push_back({match[2].str(), match[1].str() == "<", number});
    }
  }
  return found;
}

std::vector<FunctionExtent> functions_of(std::string_view source) {
  const std::string text = without_preprocessor(without_comments_and_literals(source));
  std::vector<FunctionExtent> found;
  std::vector<Scope> scopes = {Scope::kNamespace};
  std::vector<size_t> open_function;
  size_t head_start = 0;
  int line = 1;
  int head_line = 1;
  int parens = 0;
  bool head_is_empty = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (head_is_empty && std::isspace(static_cast<unsigned char>(c)) == 0) {
      head_is_empty = false;
      head_line = line;
      head_start = i;
    }
    if (c == '(') ++parens;
    if (c == ')' && parens > 0) --parens;
    // A brace inside parentheses is an initialiser or a lambda argument, never a scope of ours.
    bool ends_head = c == ';' && parens == 0;
    if (c == '{') {
      const std::string head = text.substr(head_start, i - head_start);
      const Scope scope = parens > 0 ? Scope::kInitialiser : scope_of(head, scopes.back());
      scopes.push_back(scope);
      ends_head = scope != Scope::kInitialiser;
      if (scope == Scope::kFunction) {
        open_function.push_back(found.size());
        found.push_back({head, head_line, 0});
      }
    } else if (c == '}' && scopes.size() > 1) {
      ends_head = scopes.back() != Scope::kInitialiser;
      if (scopes.back() == Scope::kFunction) {
        found[open_function.back()].last_line = line;
        open_function.pop_back();
      }
      scopes.pop_back();
    }
    if (ends_head) head_is_empty = true;
  }
  return found;
}

int line_count(std::string_view source) {
  const auto breaks = std::count(source.begin(), source.end(), '\n');
  return static_cast<int>(breaks) + (!source.empty() && source.back() != '\n' ? 1 : 0);
}

}  // namespace galley::architecture
