#include "tools/python_calls.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class PythonReader {
 public:
  explicit PythonReader(std::string_view code) : code_(code) {}

  Result<std::vector<std::pair<std::string, json>>> run() {
    std::vector<std::pair<std::string, json>> out;
    for (skip(); at_ < code_.size(); skip()) {
      std::string name = dotted_name();
      const bool is_printed = name == "print";
      if (is_printed) {
        GALLEY_TRY(expect('('));
        skip();
        name = dotted_name();
      }
      constexpr std::string_view kApi = "default_api.";
      if (name.starts_with(kApi)) name = name.substr(kApi.size());
      if (name.empty()) return bad("a call of a tool");
      json args = json::object();
      GALLEY_TRY(arguments(args));
      if (is_printed) GALLEY_TRY(expect(')'));
      while (at_ < code_.size() && (code_[at_] == ' ' || code_[at_] == ';')) ++at_;
      const bool ends =
          at_ == code_.size() || code_[at_] == '\n' || code_[at_] == '\r' || code_[at_] == '#';
      if (!ends) return bad("the end of the line");
      out.emplace_back(std::move(name), std::move(args));
    }
    return out;
  }

 private:
  static constexpr int kMaxDepth = 32;  // of lists and dictionaries

  [[nodiscard]] tl::unexpected<Error> bad(const std::string& wanted) const {
    return fail(ErrorKind::kInvalid, "call_text.value",
                "this is not only calls with literal arguments by name: " + wanted +
                    " is expected at byte " + std::to_string(at_ + 1) + " of the code");
  }

  [[nodiscard]] bool is_at(std::string_view what) const {
    return code_.substr(at_).starts_with(what);
  }

  void skip() {
    while (at_ < code_.size()) {
      if (code_[at_] == '#') {
        at_ = std::min(code_.find('\n', at_), code_.size());
      } else if (is_plain_space(code_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Result<void> expect(char c) {
    skip();
    if (at_ == code_.size() || code_[at_] != c) return bad("'" + std::string(1, c) + "'");
    ++at_;
    return {};
  }

  bool take(char c) {
    skip();
    if (at_ == code_.size() || code_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string dotted_name() {
    const size_t begin = at_;
    while (at_ < code_.size() && (is_word_char(code_[at_]) || code_[at_] == '.')) ++at_;
    return std::string(code_.substr(begin, at_ - begin));
  }

  Result<void> arguments(json& out) {
    GALLEY_TRY(expect('('));
    while (!take(')')) {
      skip();
      const std::string name = dotted_name();
      if (name.empty() || out.contains(name)) return bad("another argument's name");
      GALLEY_TRY(expect('='));
      GALLEY_ASSIGN(out[name], value(0));
      if (!take(',')) return expect(')');
    }
    return {};
  }

  Result<json> value(int depth) {
    skip();
    if (at_ == code_.size() || depth > kMaxDepth) return bad("a value");
    const char c = code_[at_];
    if (c == '"' || c == '\'') return text();
    if (c == '[') return list(depth);
    if (c == '{') return dictionary(depth);
    const size_t begin = at_;
    while (at_ < code_.size() && (is_word_char(code_[at_]) || code_[at_] == '-' ||
                                  code_[at_] == '+' || code_[at_] == '.')) {
      ++at_;
    }
    const std::string_view word = code_.substr(begin, at_ - begin);
    if (word == "True") return json(true);
    if (word == "False") return json(false);
    if (word == "None") return json();
    auto number = parse_json(word);
    if (number && number->is_number()) return number;
    at_ = begin;
    return bad("a literal");
  }

  Result<json> list(int depth) {
    json out = json::array();
    ++at_;
    while (!take(']')) {
      GALLEY_ASSIGN(json item, value(depth + 1));
      out.push_back(std::move(item));
      if (take(',')) continue;
      GALLEY_TRY(expect(']'));
      break;
    }
    return out;
  }

  Result<json> dictionary(int depth) {
    json out = json::object();
    ++at_;
    while (!take('}')) {
      skip();
      const bool is_text = at_ < code_.size() && (code_[at_] == '"' || code_[at_] == '\'');
      if (!is_text) return bad("a key");
      GALLEY_ASSIGN(const json key, text());
      const auto& name = key.get_ref<const std::string&>();
      if (out.contains(name)) return bad("another key");
      GALLEY_TRY(expect(':'));
      GALLEY_ASSIGN(out[name], value(depth + 1));
      if (take(',')) continue;
      GALLEY_TRY(expect('}'));
      break;
    }
    return out;
  }

  /// Reads one or several adjacent texts, which Python joins.
  Result<json> text() {
    std::string out;
    do {
      GALLEY_TRY(one_text(out));
      skip();
    } while (at_ < code_.size() && (code_[at_] == '"' || code_[at_] == '\''));
    if (!is_utf8(out)) return bad("UTF-8");
    return json(std::move(out));
  }

  Result<void> one_text(std::string& out) {
    const char quote = code_[at_];
    const std::string three(3, quote);
    const std::string end = is_at(three) ? three : std::string(1, quote);
    at_ += end.size();
    while (!is_at(end)) {
      if (at_ >= code_.size() || (end.size() == 1 && code_[at_] == '\n')) {
        return bad("the end of a text");
      }
      if (code_[at_] != '\\') {
        out.push_back(code_[at_++]);
        continue;
      }
      GALLEY_TRY(escape(out));
    }
    at_ += end.size();
    return {};
  }

  Result<void> escape(std::string& out) {
    const size_t begin = at_++;
    if (at_ == code_.size()) return bad("the end of a text");
    const char c = code_[at_++];
    switch (c) {
      case '\n':
        return {};
      case 'n':
        out.push_back('\n');
        return {};
      case 't':
        out.push_back('\t');
        return {};
      case 'r':
        out.push_back('\r');
        return {};
      case '\\':
      case '\'':
      case '"':
        out.push_back(c);
        return {};
      case 'u': {
        const auto letter = parse_json("\"\\u" + std::string(code_.substr(at_, 4)) + "\"");
        if (!letter || at_ + 4 > code_.size()) break;
        out += letter->get_ref<const std::string&>();
        at_ += 4;
        return {};
      }
      default:
        break;
    }
    at_ = begin;
    return bad("one of the escapes \\n, \\t, \\r, \\\\, \\', \\\" and \\uXXXX");
  }

  std::string_view code_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::pair<std::string, json>>> read_python_calls(std::string_view code) {
  return PythonReader(code).run();
}

}  // namespace galley
