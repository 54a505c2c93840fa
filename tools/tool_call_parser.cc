#include "tools/tool_call_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "staging/formats/thoughts.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/shapes.h"

namespace galley {
namespace {

/// A tag in a text: `<name attribute="value">`. A prefix such as `ns:` is removed from its name.
struct CallTag {
  std::string_view name;
  std::string_view full_name;  ///< with its prefix
  std::string_view attribute;  ///< value of its attribute `name`
  bool is_closing = false;
  bool is_empty = false;  ///< `<name/>`
  size_t end = 0;         ///< offset after it
};

/// Reads tags and values from a text that is not XML: a value need not be well-formed.
///
/// Invariant: all searches together read at most kMaxReadings times the text. Beyond that,
///            has_given_up() is true and searches find nothing.
/// Ownership: borrows the text. Threads: confined to one thread.
class CallTextScanner {
 public:
  explicit CallTextScanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool has_given_up() const { return has_given_up_; }
  [[nodiscard]] size_t past_space(size_t at) const;
  /// The tag at `at`, which is `<`.
  [[nodiscard]] std::optional<CallTag> tag_at(size_t at) const;
  /// Returns the tag after white space, or nothing if other text follows.
  [[nodiscard]] std::optional<CallTag> next_tag(size_t at) const;
  /// Counts bytes of the text that another function read.
  void charge(size_t bytes);
  /// The next position of `what`; npos if there is none.
  size_t find(std::string_view what, size_t from);

  /// The tags that may follow a value.
  struct ValueEnd {
    std::string element;           ///< its closing tag ends the value
    std::string block;             ///< `tool_use` or `invoke`; its closing tag may follow
    std::string list;              ///< `parameters`; its closing tag may follow, too; or empty
    std::string block_end;         ///< the closing tag of the block as it is written
    std::set<std::string> others;  ///< elements that may follow
    bool takes_any = false;        ///< any element may follow, because the tool is not known
  };
  struct Value {
    std::string_view text;
    size_t end = 0;            ///< offset after its closing tag
    bool is_doubtful = false;  ///< it contains unbalanced tags of the same name
  };
  /// The value that begins at `from`. It ends with its CDATA section, or with the first of these
  /// closing tags that exists:
  /// 1. a tag that does not close an inner element, before an allowed tag
  /// 2. a tag that does not close an inner element, before an unknown element
  /// 3. any closing tag before an allowed tag, if the value does not extend beyond its block
  std::optional<Value> value(size_t from, const ValueEnd& end);

 private:
  bool may_follow(size_t at, const ValueEnd& end) const;
  std::optional<Value> marked_value(size_t from, const ValueEnd& end);

  std::string_view text_;
  size_t read_ = 0;
  bool has_given_up_ = false;
};

constexpr size_t kMaxTagBytes = 512;
constexpr std::string_view kMarkBegin = "<![CDATA[";
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

}  // namespace

size_t CallTextScanner::past_space(size_t at) const {
  while (at < text_.size() && is_plain_space(text_[at])) ++at;
  return at;
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

namespace {

using nlohmann::json;
using ValueEnd = CallTextScanner::ValueEnd;

constexpr size_t kMaxQuotedBytes = 80;
constexpr std::string_view kFence = "```";

/// A value without the newline after its opening tag.
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

/// The types that a schema allows for a member; empty if it does not restrict them.
std::vector<std::string> type_names(const json& schema) {
  if (!schema.is_object() || !schema.contains("type")) return {};
  const json& type = schema["type"];
  std::vector<std::string> out;
  if (type.is_string()) out.push_back(type);
  if (type.is_array()) {
    for (const json& each : type) {
      if (each.is_string()) out.push_back(each);
    }
  }
  return out;
}

bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == (value.is_object() ? "object" : value.is_array() ? "array" : value.type_name());
}

/// Finds the calls of one text.
class CallFinder {
 public:
  CallFinder(std::string_view text, const ToolRegistry& registry)
      : text_(text), registry_(registry), scanner_(text) {}

  Result<CallsOfText> run() {
    const size_t begin = past_thoughts(scanner_.past_space(0));
    size_t at = take_document(begin) ? text_.size() : begin;
    while (at < text_.size()) {
      const size_t next = text_.find_first_of("<`", at);
      if (next == std::string_view::npos) break;
      at = text_[next] == '<' ? take_tag(next) : take_fence(next);
      if (scanner_.has_given_up()) return too_much("takes too long to read");
      if (out_.calls.size() > kMaxCallsInText) {
        return too_much("has more than " + std::to_string(kMaxCallsInText) + " calls");
      }
    }
    set_places();
    return std::move(out_);
  }

 private:
  static tl::unexpected<Error> too_much(const std::string& why) {
    return fail(ErrorKind::kQuota, "limit.call_text", "the text with tool calls " + why);
  }

  /// Whether the whole text is JSON with calls, understood or not.
  bool take_document(size_t begin) {
    size_t at = scanner_.past_space(begin);
    for (const std::string_view mark : {"[TOOL_CALLS]", "<|python_tag|>"}) {
      if (text_.substr(at).starts_with(mark)) at = scanner_.past_space(at + mark.size());
    }
    const std::string_view body = trim(text_.substr(at), kPlainSpaces);
    return (body.starts_with('{') || body.starts_with('[')) && take_json(at, body);
  }

  // --- tags -----------------------------------------------------------------------------------

  size_t take_tag(size_t at) {
    if (text_.substr(at).starts_with(kFunction)) return take_function(at);
    if (const size_t end = past_thoughts(at); end > at) return end;
    if (const size_t end = past_thought_before(at); end > at) return end;
    const auto tag = scanner_.tag_at(at);
    if (!tag || tag->is_closing || tag->is_empty) return at + 1;
    if (tag->name == "tool_use") return take_tool_use(at, *tag);
    if (tag->name == "invoke") return take_invoke(at, *tag);
    if (tag->name == "tool_call") return take_tool_call(at, *tag);
    return at + 1;
  }

  /// Returns where the text goes on after an element in which the model thinks: calls in it are not
  /// made. If it is not closed, the rest of the text is a thought.
  size_t past_thoughts(size_t at) {
    if (!begins_line(at) || !thought_at(text_, at)) return at;
    const size_t end = std::min(thought_end(text_, at), text_.size());
    scanner_.charge(end - at);
    return end;
  }

  /// The same for a thought whose opening tag is missing: all that was found before is a thought.
  size_t past_thought_before(size_t at) {
    const size_t length = closing_tag_length(text_, at);
    if (length == 0) return at;
    const size_t line_end = std::min(text_.find('\n', at), text_.size());
    const bool ends_line = is_blank(text_.substr(at + length, line_end - at - length));
    if (!begins_line(at) && !ends_line) return at;
    out_ = {};
    return at + length;
  }

  [[nodiscard]] bool begins_line(size_t at) const { return at == 0 || text_[at - 1] == '\n'; }

  /// Reads a `<tool_call>` with JSON in it. If it has other tags in it, they are read separately.
  size_t take_tool_call(size_t at, const CallTag& open) {
    constexpr std::string_view kEnd = "</tool_call>";
    if (!text_.substr(scanner_.past_space(open.end)).starts_with('{')) return open.end;
    const auto is_whole = [&](size_t at) {
      scanner_.charge(at - open.end);
      return parse_json(trim(text_.substr(open.end, at - open.end), kPlainSpaces)).has_value();
    };
    // The end may be in a string of the JSON, too.
    const size_t first = scanner_.find(kEnd, open.end);
    size_t end = first;
    while (end != std::string_view::npos && !is_whole(end)) end = scanner_.find(kEnd, end + 1);
    if (end == std::string_view::npos && !is_whole(text_.size())) end = first;
    if (end == std::string_view::npos) {
      report(at, true, "call_text.not_closed", "</tool_call> is missing: the text ends with it");
    }
    const size_t body_end = std::min(end, text_.size());
    if (!take_json(at, trim(text_.substr(open.end, body_end - open.end), kPlainSpaces))) {
      report(at, false, "call_text.value", "<tool_call> has no call in it");
    }
    return end == std::string_view::npos ? text_.size() : end + kEnd.size();
  }

  /// Reads a `<function=NAME>` with a JSON object or with `<parameter=NAME>value</parameter>` in
  /// it.
  size_t take_function(size_t at) {
    constexpr std::string_view kEnd = "</function>";
    const size_t name_end = scanner_.find(">", at);
    if (name_end == std::string_view::npos || name_end - at > kMaxTagBytes) return at + 1;
    Found found =
        begin_call(at, trim(text_.substr(at, name_end - at).substr(kFunction.size()), "\"' "));
    const auto not_closed = [&](std::string_view what) {
      report(at, false, "call_text.not_closed", std::string(what) + " is missing");
      return name_end + 1;
    };
    size_t next = scanner_.past_space(name_end + 1);
    if (text_.substr(next).starts_with('{')) {
      size_t end = scanner_.find(kEnd, next);
      Result<json> object = json();
      for (; end != std::string_view::npos; end = scanner_.find(kEnd, end + 1)) {
        scanner_.charge(end - next);
        object = parse_json(trim(text_.substr(next, end - next), kPlainSpaces));
        if (object) break;
      }
      if (end == std::string_view::npos) return not_closed("</function> behind a JSON object");
      if (object->is_object()) found.args = *std::move(object);
      next = end;
    }
    while (text_.substr(next).starts_with(kParameter)) {
      const size_t key_end = scanner_.find(">", next);
      if (key_end == std::string_view::npos) return not_closed("'>'");
      const std::string key(
          trim(text_.substr(next, key_end - next).substr(kParameter.size()), "\"' "));
      const size_t end = end_of_parameter(key_end + 1);
      if (end == std::string_view::npos) return not_closed("</parameter>");
      std::string_view value = without_layout(text_.substr(key_end + 1, end - key_end - 1));
      if (value.ends_with('\n')) value.remove_suffix(1);
      if (found.args.contains(key)) {
        report(next, false, "call_text.twice", "the parameter '" + key + "' is given twice");
      }
      found.args[key] = typed(found, key, value, next);
      next = scanner_.past_space(end + kParameterEnd.size());
    }
    if (!text_.substr(next).starts_with(kEnd)) return not_closed(kEnd);
    found.call.args = std::make_shared<const json>(std::move(found.args));
    out_.calls.push_back(std::move(found.call));
    return next + kEnd.size();
  }

  /// The first closing tag that another parameter or the end of the function follows.
  size_t end_of_parameter(size_t from) {
    for (size_t end = scanner_.find(kParameterEnd, from); end != std::string_view::npos;
         end = scanner_.find(kParameterEnd, end + 1)) {
      const std::string_view rest = text_.substr(scanner_.past_space(end + kParameterEnd.size()));
      if (rest.starts_with(kParameter) || rest.starts_with("</function>")) return end;
    }
    return std::string_view::npos;
  }

  /// Where to continue after a block that was not understood.
  size_t past_block(const CallTag& open) {
    const std::string end = "</" + std::string(open.full_name) + ">";
    const size_t found = scanner_.find(end, open.end);
    return found == std::string_view::npos ? open.end : found + end.size();
  }

  size_t take_tool_use(size_t at, const CallTag& open) {
    const auto name_tag = scanner_.next_tag(open.end);
    if (!name_tag) {
      report(at, true, "call_text.prose", "<tool_use> has no call behind it: taken as text");
      return open.end;
    }
    if (name_tag->is_closing || name_tag->name != "tool_name") {
      report(at, false, "call_text.no_name", "<tool_use> begins without <tool_name>");
      return past_block(open);
    }
    const size_t name_end = std::min(text_.find_first_of("<\n", name_tag->end), text_.size());
    Found found =
        begin_call(at, trim(text_.substr(name_tag->end, name_end - name_tag->end), kPlainSpaces));
    size_t next = name_end;
    const auto closing = scanner_.next_tag(name_end);
    if (closing && closing->is_closing && closing->name == "tool_name") {
      next = closing->end;
    } else {
      report(name_end, true, "call_text.not_closed", "</tool_name> is missing: taken as ended");
    }
    const auto list = scanner_.next_tag(next);
    if (list && !list->is_closing && list->name == "parameters") {
      const auto end = list->is_empty ? list->end : take_parameters(found, list->end);
      if (!end) return past_block(open);
      next = *end;
    }
    return finish(std::move(found), open, next);
  }

  size_t take_invoke(size_t at, const CallTag& open) {
    if (open.attribute.empty()) {
      report(at, false, "call_text.no_name", "<invoke> has no attribute 'name'");
      return past_block(open);
    }
    Found found = begin_call(at, open.attribute);
    const ValueEnd end{"parameter",   "invoke", "", "</" + std::string(open.full_name) + ">",
                       {"parameter"}, false};
    size_t next = open.end;
    while (true) {
      const auto tag = scanner_.next_tag(next);
      if (!tag || tag->is_closing || tag->name != "parameter") break;
      if (tag->attribute.empty()) {
        report(next, false, "call_text.no_name", "<parameter> has no attribute 'name'");
        return past_block(open);
      }
      if (!take_value(found, std::string(tag->attribute), *tag, end, next)) return past_block(open);
    }
    return finish(std::move(found), open, next);
  }

  // --- parameters -----------------------------------------------------------------------------

  /// A call that is being read.
  struct Found {
    FoundCall call;
    json args = json::object();
    json schema;  ///< of its input; null: the tool is not known
  };

  Found begin_call(size_t at, std::string_view name) {
    Found found;
    found.call.tool = known_name(name);
    found.call.place.offset = at;
    const auto entry = registry_.get(found.call.tool);
    if (entry) {
      found.schema = json::parse((*entry)->tool->info().input_schema, nullptr, false);
    } else {
      report(at, false, entry.error().reason, entry.error().message);
    }
    return found;
  }

  /// The name of a tool, also for a model that knows it without its dots.
  std::string known_name(std::string_view name) const {
    if (registry_.has(name)) return std::string(name);
    for (const ToolInfo& info : registry_.list()) {
      if (name_without_dots(info.name) == name) return info.name;
    }
    return std::string(name);
  }

  /// Reads the contents of <parameters>. Returns their end; nullopt if they cannot be read.
  std::optional<size_t> take_parameters(Found& found, size_t from) {
    if (text_.substr(scanner_.past_space(from)).starts_with('{')) return take_object(found, from);
    ValueEnd end{"", "tool_use", "parameters", "</tool_use>", {}, found.schema.is_null()};
    if (found.schema.contains("properties")) {
      for (const auto& [name, schema] : found.schema["properties"].items()) end.others.insert(name);
    }
    size_t next = from;
    while (true) {
      const auto tag = scanner_.next_tag(next);
      if (tag && tag->is_closing && tag->name == "parameters") return tag->end;
      if (!tag || tag->is_closing) {
        const bool is_end = tag && tag->name == "tool_use";
        report(next, is_end || scanner_.past_space(next) == text_.size(), "call_text.not_closed",
               "</parameters> is missing" + std::string(is_end ? ": taken as ended" : ""));
        if (is_end || scanner_.past_space(next) == text_.size()) return next;
        return {};
      }
      end.element = tag->name;
      if (!take_value(found, std::string(tag->name), *tag, end, next)) return {};
    }
  }

  /// Reads parameters that are one JSON object.
  std::optional<size_t> take_object(Found& found, size_t from) {
    constexpr std::string_view kEnd = "</parameters>";
    std::string why = "</parameters> is missing";
    for (size_t at = scanner_.find(kEnd, from); at != std::string_view::npos;
         at = scanner_.find(kEnd, at + 1)) {
      auto object = parse_json(trim(text_.substr(from, at - from), kPlainSpaces));
      scanner_.charge(at - from);
      if (object && object->is_object()) {
        found.args = *std::move(object);
        return at + kEnd.size();
      }
      why = object ? "the parameters are not a JSON object" : object.error().message;
      const auto tag = scanner_.next_tag(at + kEnd.size());
      if (tag && tag->is_closing && tag->name == "tool_use") break;
    }
    report(from, false, "call_text.value", "the parameters cannot be read: " + why);
    return {};
  }

  /// Reads one value and moves `next` to its end. Returns false if it cannot be read.
  bool take_value(Found& found, const std::string& name, const CallTag& tag, const ValueEnd& end,
                  size_t& next) {
    const size_t at = next;
    CallTextScanner::Value value{{}, tag.end, false};
    if (!tag.is_empty) {
      const auto read = scanner_.value(tag.end, end);
      if (!read) {
        report(scanner_.past_space(at), false, "call_text.not_closed",
               "the value of '" + name.substr(0, kMaxQuotedBytes) + "' is not closed");
        return false;
      }
      value = *read;
    }
    next = value.end;
    if (value.is_doubtful) {
      report(scanner_.past_space(at), true, "call_text.unbalanced",
             "the value of '" + name.substr(0, kMaxQuotedBytes) +
                 "' has markup of its own name that is not balanced: taken as a whole");
    }
    if (found.args.contains(name)) {
      report(scanner_.past_space(at), false, "call_text.twice",
             "the parameter '" + name.substr(0, kMaxQuotedBytes) + "' is given twice");
      return true;
    }
    found.args[name] = typed(found, name, value.text, scanner_.past_space(at));
    return true;
  }

  /// Converts a value to the type in the schema.
  json typed(const Found& found, const std::string& name, std::string_view raw, size_t at) {
    const bool is_marked = raw.data() >= text_.data() + kMark.size() &&
                           std::string_view(raw.data() - kMark.size(), kMark.size()) == kMark;
    std::string text = is_marked ? unmarked(raw) : std::string(without_layout(raw));
    std::vector<std::string> types;
    if (found.schema.contains("properties") && found.schema["properties"].contains(name)) {
      types = type_names(found.schema["properties"][name]);
    }
    const bool takes_text =
        types.empty() || std::find(types.begin(), types.end(), "string") != types.end();
    if (takes_text) return text;
    const auto value = parse_json(trim(text, kPlainSpaces));
    if (value && std::any_of(types.begin(), types.end(),
                             [&](const auto& type) { return has_type(*value, type); })) {
      return *value;
    }
    report(at, false, "call_text.value",
           "the value of '" + name.substr(0, kMaxQuotedBytes) + "' is no " + types.front() +
               (value ? "" : ": " + value.error().message));
    return text;
  }

  size_t finish(Found found, const CallTag& open, size_t next) {
    const auto end = scanner_.next_tag(next);
    const bool is_closed = end && end->is_closing && end->name == open.name;
    const bool is_last = scanner_.past_space(next) == text_.size();
    if (!is_closed) {
      report(next, is_last, "call_text.not_closed",
             "</" + std::string(open.name) + "> is missing" +
                 (is_last ? ": the text ends with it" : ""));
      if (!is_last) return past_block(open);
    }
    found.call.args = std::make_shared<const json>(std::move(found.args));
    out_.calls.push_back(std::move(found.call));
    return is_closed ? end->end : text_.size();
  }

  // --- fences ---------------------------------------------------------------------------------

  size_t take_fence(size_t at) {
    size_t ticks = at;
    while (ticks < text_.size() && text_[ticks] == '`') ++ticks;
    const size_t line = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;  // npos + 1 is 0
    if (ticks - at < kFence.size() || !trim(text_.substr(line, at - line), kPlainSpaces).empty())
      return ticks;
    const size_t head_end = std::min(text_.find('\n', ticks), text_.size());
    const std::string_view language = trim(text_.substr(ticks, head_end - ticks), kPlainSpaces);
    static constexpr std::array<std::string_view, 4> kJson = {"json", "", "tool_call",
                                                              "tool_calls"};
    const size_t close = fence_end(text_.substr(at, ticks - at), head_end);
    if (std::find(kJson.begin(), kJson.end(), language) != kJson.end()) {
      const std::string_view body =
          trim(text_.substr(head_end, std::min(close, text_.size()) - head_end), kPlainSpaces);
      const bool is_json = body.starts_with('{') || body.starts_with('[');
      if (!is_json) return head_end;  // a plain fence may contain calls as tags
      if (!take_json(at, body) && close == std::string_view::npos) return head_end;
      if (close == std::string_view::npos) {
        report(at, true, "call_text.not_closed", "the fence is not closed: the text ends with it");
        return text_.size();
      }
    } else if (language == "xml" || close == std::string_view::npos) {
      return head_end;
    }
    return std::min(text_.find('\n', close), text_.size());
  }

  size_t fence_end(std::string_view ticks, size_t from) {
    const std::string mark = "\n" + std::string(ticks);
    return scanner_.find(mark, from) == std::string_view::npos ? std::string_view::npos
                                                               : text_.find(mark, from) + 1;
  }

  /// Whether a fence contains calls, understood or not.
  bool take_json(size_t at, std::string_view body) {
    auto document = parse_json(body);
    if (!document) {
      auto mended = parse_json(repair_json(body, DocumentEnd::kUnknown));
      const size_t before = out_.calls.size() + out_.problems.size();
      if (mended && take_items(at, *mended) && out_.calls.size() + out_.problems.size() > before) {
        report(
            at, true, "call_text.json_mended",
            "the JSON has line ends in strings, single quotes, commas at the end of a list or no "
            "last brace: taken as if it had been written well");
        return true;
      }
      const bool means_calls = (body.find("\"tool\"") != std::string_view::npos ||
                                body.find("\"name\"") != std::string_view::npos) &&
                               (body.find("\"args\"") != std::string_view::npos ||
                                body.find("\"arguments\"") != std::string_view::npos);
      if (means_calls) {
        report(at, false, "call_text.value", "the fenced call: " + document.error().message);
      }
      return means_calls;
    }
    return take_items(at, *document);
  }

  bool take_items(size_t at, const json& items) {
    if (!items.is_array()) return take_json_call(at, items);
    bool any = false;
    for (const json& item : items) any = take_json_call(at, item) || any;
    return any;
  }

  /// Reads the calls of a message, or of the messages of a response. A message that was cut off at
  /// its maximum length may lack calls.
  bool take_message(size_t at, const json& message) {
    for (const char* why : {"stop_reason", "finish_reason"}) {
      const std::string reason = text_member(message, why);
      if (reason != "max_tokens" && reason != "length") continue;
      report(at, false, "call_text.cut_off",
             "the answer was cut off (" + std::string(why) + ": " + reason + ")");
    }
    bool any = false;
    for (const char* list : {"choices", "output", "content", "tool_calls"}) {
      if (message.contains(list) && message[list].is_array()) {
        any = take_items(at, message[list]) || any;
      }
    }
    if (message.contains("message") && message["message"].is_object()) {
      any = take_message(at, message["message"]) || any;
    }
    return any;
  }

  bool take_json_call(size_t at, const json& item) {
    if (!item.is_object()) return false;
    if (item.contains("function") && item["function"].is_object()) {
      const size_t before = out_.calls.size();
      if (!take_json_call(at, item["function"])) return false;
      if (out_.calls.size() > before) out_.calls.back().call_id = text_member(item, "id");
      return true;
    }
    const bool has_tool = item.contains("tool");
    const bool is_use = text_member(item, "type") == "tool_use";
    const bool has_parameters = !item.contains("arguments") && item.contains("parameters");
    const char* name = has_tool ? "tool" : "name";
    const char* arguments = has_tool         ? "args"
                            : is_use         ? "input"
                            : has_parameters ? "parameters"
                                             : "arguments";
    if (!item.contains(name)) return take_message(at, item);
    if (!item.contains(name) || !item[name].is_string()) return false;
    if (!has_tool && !item.contains(arguments)) return false;
    Found found = begin_call(at, item[name].get_ref<const std::string&>());
    for (const char* key : {"call_id", "id"}) {
      if (item.contains(key) && item[key].is_string()) found.call.call_id = item[key];
    }
    json args = item.value(arguments, json::object());
    if (args.is_string()) {  // OpenAI sends them as text
      auto inner = parse_json(args.get_ref<const std::string&>());
      args = inner ? *std::move(inner) : json();
    }
    if (!args.is_object()) {
      report(at, false, "call_text.value", std::string("'") + arguments + "' is not a JSON object");
      return true;
    }
    found.call.args = std::make_shared<const json>(std::move(args));
    out_.calls.push_back(std::move(found.call));
    return true;
  }

  // --- places ---------------------------------------------------------------------------------

  void report(size_t at, bool is_recovered, std::string reason, std::string message) {
    if (out_.problems.size() < kMaxCallProblems) {
      out_.problems.push_back({std::move(reason), std::move(message), {at, 1, 1}, is_recovered});
    } else if (!is_recovered) {
      out_.problems.back().is_recovered = false;  // the list is full, but is_whole() must be false
    }
  }

  void set_places() {
    std::vector<size_t> lines = {0};
    for (size_t at = text_.find('\n'); at != std::string_view::npos;
         at = text_.find('\n', at + 1)) {
      lines.push_back(at + 1);
    }
    const auto set = [&](TextPlace& place) {
      const auto line = std::upper_bound(lines.begin(), lines.end(), place.offset) - 1;
      place.line = static_cast<size_t>(line - lines.begin()) + 1;
      place.column = place.offset - *line + 1;
    };
    for (FoundCall& call : out_.calls) set(call.place);
    for (CallProblem& problem : out_.problems) {
      set(problem.place);
      problem.message = "line " + std::to_string(problem.place.line) + ", column " +
                        std::to_string(problem.place.column) + ": " + problem.message;
    }
  }

  static constexpr std::string_view kMark = "<![CDATA[";
  static constexpr std::string_view kFunction = "<function=";
  static constexpr std::string_view kParameter = "<parameter=";
  static constexpr std::string_view kParameterEnd = "</parameter>";

  std::string_view text_;
  const ToolRegistry& registry_;
  CallTextScanner scanner_;
  CallsOfText out_;
};

}  // namespace

bool CallsOfText::is_whole() const {
  return std::all_of(problems.begin(), problems.end(),
                     [](const CallProblem& problem) { return problem.is_recovered; });
}

Result<CallsOfText> parse_tool_calls(std::string_view text, const ToolRegistry& registry) {
  if (text.size() > kMaxCallTextBytes) {
    return fail(ErrorKind::kQuota, "limit.call_text",
                "the text with tool calls has " + std::to_string(text.size()) +
                    " bytes, more than the " + std::to_string(kMaxCallTextBytes) +
                    " that are read");
  }
  return CallFinder(text, registry).run();
}

}  // namespace galley
