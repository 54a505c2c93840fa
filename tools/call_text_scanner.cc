#include "tools/call_text_scanner.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/tool_call_parser.h"
#include "tools/unread_calls.h"

namespace galley {
namespace {

constexpr std::string_view kMarkEnd = "]]>";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

/// The value of the attribute `name`. `attributes` is the text after the name of a tag.
std::string_view name_attribute(std::string_view attributes) {
  size_t at = 0;
  while (at < attributes.size()) {
    if (!is_name_char(attributes[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < attributes.size() && is_name_char(attributes[at])) ++at;
    const std::string_view key = attributes.substr(begin, at - begin);
    if (at + 1 >= attributes.size() || attributes[at] != '=') continue;
    const char quote = attributes[at + 1];
    if (quote != '"' && quote != '\'') continue;
    const size_t close = attributes.find(quote, at + 2);
    if (close == std::string_view::npos) return {};
    if (key == "name") return attributes.substr(at + 2, close - at - 2);
    at = close + 1;
  }
  return {};
}

using nlohmann::json;

std::vector<JsonCall> calls_of_item(const json& item);

void append(std::vector<JsonCall> from, std::vector<JsonCall>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

JsonCall document_problem(std::string reason, std::string message) {
  return {false, "", nullptr, "", std::move(reason), std::move(message)};
}

/// Reads answers of which only one was to be chosen.
std::vector<JsonCall> calls_of_alternatives(const json& items) {
  std::vector<JsonCall> out;
  size_t with_calls = 0;
  for (const json& item : items) {
    auto found = calls_of_item(item);
    const bool is_any = std::ranges::any_of(
        found, [](const JsonCall& call) { return call.is_call && call.reason.empty(); });
    with_calls += is_any ? 1 : 0;
    append(std::move(found), out);
  }
  if (with_calls > 1) {
    out.push_back(document_problem(
        "call_text.alternatives", std::to_string(with_calls) +
                                      " alternative answers have calls: send only the one that you "
                                      "choose"));
  }
  return out;
}

/// Reads the calls of a message, or of the messages of a response. A message that was cut off at
/// its maximum length may lack calls.
std::vector<JsonCall> calls_of_message(const json& message) {
  std::vector<JsonCall> out;
  for (const char* why : {"stop_reason", "finish_reason", "finishReason"}) {
    const std::string reason = text_member(message, why);
    if (reason != "max_tokens" && reason != "length" && reason != "MAX_TOKENS") continue;
    out.push_back(document_problem(
        "call_text.cut_off", "the answer was cut off (" + std::string(why) + ": " + reason + ")"));
  }
  for (const char* list : {"choices", "output", "content", "tool_calls", "candidates", "parts"}) {
    if (!message.contains(list) || !message[list].is_array()) continue;
    const bool are_alternatives =
        std::string_view(list) == "choices" || std::string_view(list) == "candidates";
    append(are_alternatives ? calls_of_alternatives(message[list]) : calls_of_json(message[list]),
           out);
  }
  for (const char* inner : {"message", "content"}) {  // Gemini's content is an object
    if (message.contains(inner) && message[inner].is_object()) {
      append(calls_of_message(message[inner]), out);
    }
  }
  if (message.contains("function_call") && message["function_call"].is_object()) {
    append(calls_of_item(message["function_call"]), out);
  }
  return out;
}

std::vector<JsonCall> calls_of_item(const json& item) {
  if (!item.is_object()) return {};
  if (item.contains("function") && item["function"].is_object()) {
    auto found = calls_of_item(item["function"]);
    if (!found.empty() && found.back().is_call) {
      found.back().call_id = text_member(item, "id");
    }
    return found;
  }
  if (item.contains("functionCall") && item["functionCall"].is_object()) {
    json call = item["functionCall"];
    if (call.contains("args") && !call.contains("arguments")) call["arguments"] = call["args"];
    return calls_of_item(call);
  }
  const bool has_tool = item.contains("tool");
  const bool has_arguments = item.contains("arguments");
  const bool has_parameters = !has_arguments && item.contains("parameters");
  const bool has_input =
      text_member(item, "type") == "tool_use" ||
      (!has_arguments && !has_parameters && item.contains("input") && item["input"].is_object());
  const char* name = has_tool ? "tool" : "name";
  const char* arguments = has_tool         ? "args"
                          : has_input      ? "input"
                          : has_parameters ? "parameters"
                                           : "arguments";
  if (!item.contains(name)) return calls_of_message(item);
  if (!item[name].is_string() || (!has_tool && !item.contains(arguments))) return {};
  JsonCall call{true, item[name], nullptr, "", "", ""};
  for (const char* key : {"call_id", "id"}) {
    if (item.contains(key) && item[key].is_string()) call.call_id = item[key];
  }
  json args = item.value(arguments, json::object());
  if (args.is_string()) {  // OpenAI sends them as text
    auto inner = parse_json(args.get_ref<const std::string&>());
    args = inner ? *std::move(inner) : json();
  }
  if (args.is_object()) {
    call.args = std::make_shared<const json>(std::move(args));
  } else {
    call.reason = "call_text.value";
    call.message = std::string("'") + arguments + "' is not a JSON object";
  }
  return {std::move(call)};
}

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

std::string_view without_layout(std::string_view text) {
  if (text.starts_with("\r\n")) return text.substr(2);
  return text.starts_with('\n') ? text.substr(1) : text;
}

std::string unmarked(std::string_view text) {
  constexpr std::string_view kSplit = "]]]]><![CDATA[>";  // means `]]>` inside CDATA
  std::string out;
  size_t at = 0;
  for (size_t next = text.find(kSplit); next != std::string_view::npos;
       next = text.find(kSplit, at)) {
    out.append(text.substr(at, next - at)).append("]]>");
    at = next + kSplit.size();
  }
  return out.append(text.substr(at));
}

std::string diff_of(std::string_view text) {
  constexpr std::string_view kBegin = "<content>";
  const size_t begin = text.find(kBegin);
  const size_t end = text.rfind("</content>");
  const bool is_nested = begin != std::string_view::npos && end != std::string_view::npos &&
                         begin < end && is_blank(text.substr(0, begin));
  if (is_nested)
    text = without_layout(text.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  return text.ends_with('\n') ? std::string(text) : std::string(text) + "\n";
}

size_t CallTextScanner::past_space(size_t at) const {
  while (at < text_.size() && is_plain_space(text_[at])) ++at;
  return at;
}

size_t lines_of_content(std::string_view content) {
  const auto ends = std::max(std::ranges::count(content, '\n'), std::ranges::count(content, '\r'));
  const bool is_ended = content.ends_with('\n') || content.ends_with('\r');
  return std::max<size_t>(1, static_cast<size_t>(ends) + (is_ended ? 0 : 1));
}

std::optional<CallTag> CallTextScanner::tag_at(size_t at) const {
  if (at >= text_.size() || text_[at] != '<') return {};
  const std::string_view head = text_.substr(at, kMaxTagBytes);
  CallTag tag;
  size_t i = 1;
  if (i < head.size() && head[i] == '/') {
    tag.is_closing = true;
    ++i;
  }
  const size_t begin = i;
  while (i < head.size() && is_name_char(head[i])) ++i;
  if (i == begin || i >= head.size()) return {};
  tag.name = tag.full_name = head.substr(begin, i - begin);
  if (const size_t colon = tag.name.rfind(':'); colon != std::string_view::npos) {
    tag.name.remove_prefix(colon + 1);
  }
  if (head[i] != '>' && head[i] != '/' && !is_plain_space(head[i])) return {};
  const size_t close = head.find('>', i);
  if (close == std::string_view::npos || tag.name.empty()) return {};
  const std::string_view attributes = head.substr(i, close - i);
  if (attributes.find('<') != std::string_view::npos) return {};
  tag.is_empty = attributes.ends_with('/');
  tag.has_attributes = attributes.find('=') != std::string_view::npos;
  tag.attribute = name_attribute(attributes);
  tag.end = at + close + 1;
  return tag;
}

std::optional<CallTag> CallTextScanner::next_tag(size_t at) const { return tag_at(past_space(at)); }

void CallTextScanner::charge(size_t bytes) {
  read_ += bytes;
  has_given_up_ = has_given_up_ || read_ / kMaxReadings > text_.size();
}

size_t CallTextScanner::find(std::string_view what, size_t from) {
  const size_t found = text_.find(what, from);
  charge(std::min(found, text_.size()) - std::min(from, text_.size()));
  return has_given_up_ ? std::string_view::npos : found;
}

bool CallTextScanner::may_follow(size_t at, const ValueEnd& end) const {
  const auto tag = next_tag(at);
  if (!tag) return past_space(at) == text_.size();  // the text was cut off after a value
  if (tag->is_closing)
    return tag->name == end.block || (!end.list.empty() && tag->name == end.list);
  return end.takes_any || end.others.contains(std::string(tag->name));
}

std::optional<CallTextScanner::Value> CallTextScanner::marked_value(size_t from,
                                                                    const ValueEnd& end) {
  const size_t begin = past_space(from);
  if (!text_.substr(begin).starts_with(kMarkBegin)) return {};
  size_t at = begin + kMarkBegin.size();
  while ((at = find(kMarkEnd, at)) != std::string_view::npos) {
    const auto tag = next_tag(at + kMarkEnd.size());
    if (tag && tag->is_closing && tag->name == end.element && may_follow(tag->end, end)) {
      const size_t inner = begin + kMarkBegin.size();
      return Value{text_.substr(inner, at - inner), tag->end, false};
    }
    at += kMarkEnd.size();
  }
  return {};
}

std::optional<CallTextScanner::Value> CallTextScanner::value(size_t from, const ValueEnd& end) {
  if (auto marked = marked_value(from, end)) return marked;
  std::optional<Value> doubtful;
  std::optional<Value> unknown_follows;  // balanced, before an element that the tool does not have
  size_t last = std::string_view::npos;  // where the search ends once that one is found
  size_t depth = 0;
  for (size_t at = find("<", from); at != std::string_view::npos; at = find("<", at + 1)) {
    if (at > last) break;
    const auto tag = tag_at(at);
    if (!tag || tag->is_empty || tag->name != end.element) continue;
    if (!tag->is_closing) {
      ++depth;
      continue;
    }
    const Value found{text_.substr(from, at - from), tag->end, depth > 0};
    if (may_follow(tag->end, end)) {
      if (depth == 0) return found;
      if (!doubtful) doubtful = found;
    } else if (const auto next = next_tag(tag->end);
               depth == 0 && next && !next->is_closing && !unknown_follows) {
      unknown_follows = found;
      last = find(end.block_end, tag->end);
    }
    if (depth > 0) --depth;
  }
  if (unknown_follows) return unknown_follows;
  // A value that extends beyond its block was not closed: the closing tag is of another call.
  if (doubtful && doubtful->text.find(end.block_end) != std::string_view::npos) return {};
  return doubtful;
}

size_t CallTextScanner::end_of_pair(size_t from) {
  size_t inner = 0;
  for (size_t close = find(kArgValueEnd, from); close != std::string_view::npos;
       close = find(kArgValueEnd, from)) {
    const std::string_view before = text_.substr(from, close - from);
    for (size_t open = before.find(kArgValue); open != std::string_view::npos;
         open = before.find(kArgValue, open + 1)) {
      ++inner;
    }
    from = close + kArgValueEnd.size();
    if (inner > 0) {
      --inner;
      continue;
    }
    const std::string_view behind = text_.substr(past_space(from));
    if (behind.starts_with(kArgKey) || behind.starts_with(kToolCallEnd)) return close;
  }
  return std::string_view::npos;
}

size_t CallTextScanner::end_of_parameter(size_t from) {
  for (size_t end = find(kParameterEnd, from); end != std::string_view::npos;
       end = find(kParameterEnd, end + 1)) {
    const std::string_view rest = text_.substr(past_space(end + kParameterEnd.size()));
    if (rest.starts_with(kParameter) || rest.starts_with("</function>")) return end;
  }
  return std::string_view::npos;
}

std::optional<size_t> CallTextScanner::end_of_block(const CallTag& open) {
  const std::string end_tag = "</" + std::string(open.full_name) + ">";
  const size_t close = find(end_tag, open.end);
  if (close == std::string_view::npos) return {};
  const size_t end = close + end_tag.size();
  const std::string_view rest = text_.substr(end, text_.find('\n', end) - end);
  return is_blank(rest) ? std::optional(end) : std::nullopt;
}

bool CallTextScanner::begins_with_parameter(const CallTag& open) const {
  static constexpr std::array<std::string_view, 15> kNames = {
      "path", "file_path", "file",    "filename",   "target_file", "content", "diff",  "patch",
      "args", "arguments", "command", "parameters", "old_string",  "old_str", "search"};
  const auto child = next_tag(open.end);
  return child && !child->is_closing && !open.has_attributes && !child->has_attributes &&
         contains(kNames, child->full_name);
}

std::vector<JsonCall> calls_of_json(const json& document) {
  if (!document.is_array()) return calls_of_item(document);
  std::vector<JsonCall> out;
  std::vector<size_t> unread;
  for (size_t i = 0; i < document.size(); ++i) {
    auto found = calls_of_item(document[i]);
    if (found.empty() && is_meant_beside_calls(document[i])) unread.push_back(i);
    append(std::move(found), out);
  }
  const bool has_calls = std::ranges::any_of(out, &JsonCall::is_call);
  for (const size_t i : has_calls ? unread : std::vector<size_t>()) {
    const std::string name = called_name(document[i]);
    out.push_back(document_problem("edit.unread", "item " + std::to_string(i + 1) + " of the list" +
                                                      (name.empty() ? "" : ", '" + name + "',") +
                                                      kNotRead));
  }
  return out;
}

Result<std::vector<std::pair<std::string, json>>> read_python_calls(std::string_view code) {
  return PythonReader(code).run();
}

}  // namespace galley
