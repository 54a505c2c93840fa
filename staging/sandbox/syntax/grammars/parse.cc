#include "staging/sandbox/syntax/grammars/parse.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "staging/sandbox/syntax/source_text.h"

extern "C" {
const TSLanguage* tree_sitter_c();
const TSLanguage* tree_sitter_cpp();
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_typescript();
const TSLanguage* tree_sitter_tsx();
const TSLanguage* tree_sitter_c_sharp();
}

namespace galley {
namespace {

constexpr TSSymbol kErrorSymbol = static_cast<TSSymbol>(-1);  // ts_builtin_sym_error
constexpr uint64_t kMicrosPerMs = 1'000;

const TSLanguage* grammar_of(SyntaxLanguage language) {
  switch (language) {
    case SyntaxLanguage::kC:
    case SyntaxLanguage::kCHeader:
      return tree_sitter_c();
    case SyntaxLanguage::kCpp:
      return tree_sitter_cpp();
    case SyntaxLanguage::kPython:
      return tree_sitter_python();
    case SyntaxLanguage::kJavaScript:
      return tree_sitter_javascript();
    case SyntaxLanguage::kTypeScript:
      return tree_sitter_typescript();
    case SyntaxLanguage::kTsx:
      return tree_sitter_tsx();
    case SyntaxLanguage::kCSharp:
      return tree_sitter_c_sharp();
  }
  return tree_sitter_c();
}

struct TreeDeleter {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};
using Tree = std::unique_ptr<TSTree, TreeDeleter>;

/// A part of the text that the parser rejected, or a token that it added.
struct Fault {
  uint32_t begin = 0;
  uint32_t end = 0;
  const char* missing = nullptr;
};

/// Visits nodes without recursion, at any depth; `enters` says whether to visit the children.
template <class Enters>
void walk(const TSTree* tree, Enters enters) {
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  bool is_done = false;
  while (!is_done) {
    if (enters(ts_tree_cursor_current_node(&cursor)) && ts_tree_cursor_goto_first_child(&cursor)) {
      continue;
    }
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      is_done = !ts_tree_cursor_goto_parent(&cursor);
      if (is_done) break;
    }
  }
  ts_tree_cursor_delete(&cursor);
}

std::vector<Fault> faults_of(const TSTree* tree) {
  std::vector<Fault> faults;
  walk(tree, [&faults](TSNode node) {
    if (faults.size() >= kMaxSyntaxErrors) return false;
    if (ts_node_is_missing(node)) {
      faults.push_back({ts_node_start_byte(node), ts_node_start_byte(node), ts_node_type(node)});
      return false;
    }
    if (ts_node_symbol(node) == kErrorSymbol) {
      faults.push_back({ts_node_start_byte(node), ts_node_end_byte(node), nullptr});
      return false;
    }
    return ts_node_has_error(node);
  });
  return faults;
}

/// The delimiter tokens of a leaf; `[[` and `]]` are two.
void add_delimiters(std::string_view text, TSNode leaf, std::vector<DelimiterToken>& tokens) {
  using Kind = DelimiterToken::Kind;
  const std::string_view type = ts_node_type(leaf);
  const uint32_t begin = ts_node_start_byte(leaf);
  const uint32_t end = ts_node_end_byte(leaf);
  if (begin == end || end > text.size()) return;
  if (type == "#if" || type == "#ifdef" || type == "#ifndef") {
    tokens.push_back({Kind::kIf, 0, begin});
  } else if (type == "#else" || type == "#elif" || type == "#elifdef" || type == "#elifndef") {
    tokens.push_back({Kind::kElse, 0, begin});
  } else if (type == "#endif") {
    tokens.push_back({Kind::kEndIf, 0, begin});
  }
  constexpr std::string_view kOpeners = "([{";
  constexpr std::string_view kClosers = ")]}";
  const bool is_brace = type == "interpolation_brace";
  if (!is_brace && (type.size() > 2 || ts_node_is_named(leaf))) return;
  for (uint32_t i = begin; i < end; ++i) {
    const size_t opener = kOpeners.find(text[i]);
    const size_t closer = kClosers.find(text[i]);
    if (opener != std::string_view::npos) tokens.push_back({Kind::kOpen, kOpeners[opener], i});
    if (closer != std::string_view::npos) tokens.push_back({Kind::kClose, kOpeners[closer], i});
  }
}

std::vector<DelimiterToken> delimiters_of(std::string_view text, const TSTree* tree) {
  std::vector<DelimiterToken> tokens;
  walk(tree, [&](TSNode node) {
    if (ts_node_child_count(node) != 0) return true;
    add_delimiters(text, node, tokens);
    return false;
  });
  return tokens;
}

/// Reads the parser's log: the last place, before each attempt to recover, where all of its
/// versions stopped. That is the token that a compiler would report; an ERROR node may begin long
/// before it.
class StopLog {
 public:
  explicit StopLog(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') lines_.push_back(static_cast<uint32_t>(i + 1));
    }
  }

  static void listen(void* self, TSLogType type, const char* message) {
    if (type == TSLogTypeParse) static_cast<StopLog*>(self)->take(message);
  }

  /// The offsets of the tokens at which it stopped, in order.
  std::vector<uint32_t> stops() && {
    std::sort(stops_.begin(), stops_.end());
    return std::move(stops_);
  }

 private:
  void take(const char* message) {
    unsigned row = 0;
    unsigned column = 0;
    const std::string_view line = message;
    if (line.starts_with("process version")) {
      if (!number_behind(line, "row:", row) || !number_behind(line, "col:", column)) return;
      if (row < lines_.size()) here_ = lines_[row] + column;
    } else if (line.starts_with("detect_error")) {
      furthest_ = std::max(furthest_, here_);
    } else if (line.starts_with("resume version") && stops_.size() < kMaxSyntaxErrors) {
      stops_.push_back(token_at(furthest_));
      furthest_ = 0;
    }
  }

  /// Called for every token, so it avoids a general parser.
  static bool number_behind(std::string_view line, std::string_view word, unsigned& number) {
    const size_t at = line.find(word);
    if (at == line.npos) return false;
    const char* begin = line.data() + at + word.size();
    return std::from_chars(begin, line.data() + line.size(), number).ec == std::errc();
  }

  [[nodiscard]] uint32_t token_at(uint32_t offset) const {
    const size_t token = text_.find_first_not_of(" \t\r\n", std::min<size_t>(offset, text_.size()));
    return static_cast<uint32_t>(std::min(token, text_.size()));
  }

  std::string_view text_;
  std::vector<uint32_t> lines_;
  uint32_t here_ = 0;
  uint32_t furthest_ = 0;
  std::vector<uint32_t> stops_;
};

/// The end of the word or sign at `begin`.
uint32_t token_end(std::string_view text, uint32_t begin) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (begin >= text.size()) return begin;
  uint32_t end = begin + 1;
  while (is_word(text[begin]) && end < text.size() && is_word(text[end])) ++end;
  return end;
}

/// Returns the place of a token that is missing before the token at `token`. This is after the
/// previous token, or on the next line if that line lacks its beginning or is blank.
uint32_t gap_before(std::string_view text, uint32_t token) {
  const size_t last = text.substr(0, token).find_last_not_of(" \t\r\n");
  const size_t begin = last == text.npos ? 0 : last + 1;
  const size_t newline = text.find('\n', begin);
  if (newline >= token) return static_cast<uint32_t>(begin);
  const size_t next = text.find_first_not_of(" \t\r", newline + 1);
  constexpr std::string_view kNoBeginning = ";:,.)]}>=?\n";
  const bool has_lost = next != text.npos && kNoBeginning.find(text[next]) != text.npos;
  return static_cast<uint32_t>(has_lost && next <= token ? next : begin);
}

bool has_macros(SyntaxLanguage language) {
  return language == SyntaxLanguage::kC || language == SyntaxLanguage::kCpp ||
         language == SyntaxLanguage::kCHeader;
}

constexpr uint32_t kNone = static_cast<uint32_t>(-1);
constexpr uint32_t kMaxQuoteSearch = 16'384;  // bytes

/// Finds the first C string or character literal on the lines of [begin, end) that does not end on
/// its line. Returns the offset of its quote; kNone if all literals end.
uint32_t open_quote(std::string_view text, uint32_t begin, uint32_t end) {
  const size_t newline = begin == 0 ? text.npos : text.rfind('\n', begin - 1);
  const size_t last = std::min(text.find('\n', end), text.size());
  size_t i = newline == text.npos ? 0 : newline + 1;
  for (const size_t stop = std::min<size_t>(last, i + kMaxQuoteSearch); i < stop; ++i) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), stop);
    } else if (text.substr(i, 2) == "/*") {
      i = std::min(text.find("*/", i + 2), stop) + 1;
    } else if (text.substr(i, 2) == "R\"") {
      return kNone;  // a raw string has many lines
    } else if (text[i] == '"' || text[i] == '\'') {
      const bool is_separator =
          text[i] == '\'' && i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0;
      if (is_separator) continue;
      const size_t quote = i;
      for (++i; i < text.size() && text[i] != text[quote] && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
      }
      if (i >= text.size() || text[i] == '\n') return static_cast<uint32_t>(quote);
    }
  }
  return kNone;
}

SyntaxError error_of(std::string_view text, const Fault& fault,
                     const std::vector<uint32_t>& stops) {
  const auto stop = std::lower_bound(stops.begin(), stops.end(), fault.begin);
  // An added token is before the token at which the parser stopped.
  if (fault.missing != nullptr) {
    const uint32_t begin = gap_before(text, fault.begin);
    return {SyntaxError::Kind::kMissing, begin, token_end(text, begin), begin, fault.missing};
  }
  const size_t next = std::min(text.find_first_not_of(" \t\r\n", fault.end), text.size());
  const bool is_inside = stop != stops.end() && *stop <= next;
  const uint32_t begin = is_inside ? *stop : fault.begin;
  return {SyntaxError::Kind::kUnexpected, begin, token_end(text, begin), fault.begin, {}};
}

}  // namespace

struct SyntaxParser::Parts {
  TSParser* parser = ts_parser_new();
  ~Parts() { ts_parser_delete(parser); }

  Tree parse(SyntaxLanguage language, std::string_view text, StopLog* log) {
    ts_parser_reset(parser);
    ts_parser_set_language(parser, grammar_of(language));
    ts_parser_set_timeout_micros(parser, uint64_t{kMaxSyntaxFileMs} * kMicrosPerMs);
    ts_parser_set_logger(parser, {log, log == nullptr ? nullptr : StopLog::listen});
    return Tree(
        ts_parser_parse_string(parser, nullptr, text.data(), static_cast<uint32_t>(text.size())));
  }

  /// Returns nothing when the errors of the text need a second pass.
  std::optional<SyntaxAnswer> answer_unless_wrong(SyntaxLanguage language, std::string_view text) {
    const Tree tree = parse(language, text, nullptr);
    if (!tree) return SyntaxAnswer{true, {}};
    if (!ts_node_has_error(ts_tree_root_node(tree.get()))) return SyntaxAnswer();
    return std::nullopt;
  }

  SyntaxAnswer answer(SyntaxLanguage language, std::string_view text) {
    const Tree tree = parse(language, text, nullptr);
    if (!tree) return {true, {}};
    if (!ts_node_has_error(ts_tree_root_node(tree.get()))) return {};
    const auto unmatched = delimiter_errors(text, delimiters_of(text, tree.get()));
    SyntaxAnswer answer;
    // Reading the parser's log costs more than parsing. In languages with macros, which explain
    // most errors, that is only worthwhile together with an error that macros do not explain.
    std::vector<uint32_t> stops;
    if (!has_macros(language) || !unmatched.empty()) {
      StopLog log(text);
      if (!parse(language, text, &log)) return {true, {}};
      stops = std::move(log).stops();
    }
    for (const Fault& fault : faults_of(tree.get())) {
      answer.errors.push_back(error_of(text, fault, stops));
      const uint32_t quote =
          has_macros(language) ? open_quote(text, fault.begin, fault.end) : kNone;
      if (quote != kNone) {
        answer.errors.back() = {SyntaxError::Kind::kUnexpected, quote, quote + 1, quote,
                                std::string(1, text[quote])};
      }
    }
    answer.errors.insert(answer.errors.end(), unmatched.begin(), unmatched.end());
    return answer;
  }

  /// Parses the text twice, with different branches of its conditionals. An error on a line of both
  /// that appears in only one of them may come from branches that do not belong together.
  SyntaxAnswer answer_preprocessed(SyntaxLanguage language, std::string_view text) {
    const std::string one = blank_conditionals(text, Conditionals::kAllDefined);
    const std::string other = blank_conditionals(text, Conditionals::kNoneDefined);
    SyntaxAnswer answer_one = answer(language, one);
    if (one == other || answer_one.gave_up) return answer_one;
    SyntaxAnswer answer_other = answer(language, other);
    if (answer_other.gave_up) return answer_other;
    SyntaxAnswer both;
    for (SyntaxError& error : answer_one.errors) {
      error.in_one_reading = stands_in(other, error) && !has_alike(answer_other, error, text);
      both.errors.push_back(std::move(error));
    }
    for (SyntaxError& error : answer_other.errors) {
      error.in_one_reading = stands_in(one, error);
      const bool is_known = error.in_one_reading && has_alike(both, error, text);
      if (!is_known) both.errors.push_back(std::move(error));
    }
    return both;
  }

  static bool stands_in(const std::string& text, const SyntaxError& error) {
    return error.offset >= text.size() ||
           std::isspace(static_cast<unsigned char>(text[error.cause])) == 0 ||
           std::isspace(static_cast<unsigned char>(text[error.offset])) == 0;
  }
  /// Whether the other answer has an error of that kind on the same line.
  static bool has_alike(const SyntaxAnswer& answer, const SyntaxError& error,
                        std::string_view text) {
    return std::any_of(answer.errors.begin(), answer.errors.end(), [&](const SyntaxError& other) {
      const auto [low, high] = std::minmax(other.offset, error.offset);
      return other.kind == error.kind &&
             text.substr(low, high - low).find('\n') == std::string_view::npos;
    });
  }
};

SyntaxParser::SyntaxParser() : parts_(std::make_unique<Parts>()) {}
SyntaxParser::~SyntaxParser() = default;

SyntaxAnswer SyntaxParser::parse(SyntaxLanguage language, std::string_view text) {
  if (language == SyntaxLanguage::kTypeScript || language == SyntaxLanguage::kTsx) {
    const auto settled = parts_->answer_unless_wrong(language, text);
    return settled ? *settled : parts_->answer(language, with_known_types(text));
  }
  const bool has_directives = language == SyntaxLanguage::kC || language == SyntaxLanguage::kCpp ||
                              language == SyntaxLanguage::kCHeader ||
                              language == SyntaxLanguage::kCSharp;
  if (!has_directives) return parts_->answer(language, text);
  SyntaxAnswer answer = parts_->answer_preprocessed(language, text);
  if (language != SyntaxLanguage::kCHeader || answer.errors.empty()) return answer;
  SyntaxAnswer as_cpp = parts_->answer_preprocessed(SyntaxLanguage::kCpp, text);
  return !as_cpp.gave_up && as_cpp.errors.size() < answer.errors.size() ? as_cpp : answer;
}

}  // namespace galley
