#include "tools/tool_call_parser.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"
#include "tools/call_arguments.h"
#include "tools/call_text_scanner.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"
#include "tools/shapes.h"
#include "tools/unread_calls.h"

namespace galley {
namespace {

using nlohmann::json;
using ValueEnd = CallTextScanner::ValueEnd;

constexpr size_t kMaxQuotedBytes = 80;
constexpr std::string_view kFence = "```";

/// Finds the calls of one text.
class CallFinder {
 public:
  CallFinder(std::string_view text, const ToolRegistry& registry)
      : text_(text), registry_(registry), scanner_(text), suspects_(registry) {}

  Result<CallsOfText> run() {
    GALLEY_TRY(scan());
    // JSON between prose may be an example, if there are other calls.
    const std::string_view body = text_.substr(scanner_.past_space(0));
    reads_bare_ = out_.calls.empty() && out_.problems.empty() && !body.starts_with('{') &&
                  !body.starts_with('[');
    if (reads_bare_) GALLEY_TRY(scan());
    for (CallProblem& one : suspects_.problems(out_)) {
      report(one.place.offset, false, std::move(one.reason), std::move(one.message));
    }
    set_places();
    return std::move(out_);
  }

 private:
  static tl::unexpected<Error> too_much(const std::string& why) {
    return fail(ErrorKind::kQuota, "limit.call_text", "the text with tool calls " + why);
  }

  Result<void> scan() {
    suspects_.clear();
    fence_end_ = 0;
    const size_t begin = past_thoughts(scanner_.past_space(0));
    size_t at = take_document(begin) ? text_.size() : begin;
    while (at < text_.size()) {
      const size_t next = text_.find_first_of(reads_bare_ ? "<`{[" : "<`", at);
      if (next == std::string_view::npos) break;
      at = text_[next] == '<'               ? take_tag(next)
           : text_[next] == '`'             ? take_fence(next)
           : begins_line_after_blanks(next) ? take_bare_json(next)
                                            : next + 1;
      if (scanner_.has_given_up()) return too_much("takes too long to read");
      if (out_.calls.size() > kMaxCallsInText) {
        return too_much("has more than " + std::to_string(kMaxCallsInText) + " calls");
      }
    }
    return {};
  }

  /// Whether the whole text is JSON with calls, understood or not.
  bool take_document(size_t begin) {
    size_t at = scanner_.past_space(begin);
    for (const std::string_view mark : {kMistralMark, kPythonTag, kToolCallMark}) {
      if (text_.substr(at).starts_with(mark)) at = scanner_.past_space(at + mark.size());
    }
    std::string_view body = trim(text_.substr(at), kPlainSpaces);
    for (const std::string_view mark : {"<|end_of_text|>", "<|im_end|>", "<|end|>", "<|eom_id|>",
                                        "<|eot_id|>", "<|/tool_call|>"}) {
      if (!body.ends_with(mark)) continue;
      body.remove_suffix(mark.size());
      body = trim(body, kPlainSpaces);
    }
    return (body.starts_with('{') || body.starts_with('[')) && take_json(at, body);
  }

  /// Reads JSON with calls that begins at `at`. Returns where the text goes on: other JSON is text.
  size_t take_bare_json(size_t at) {
    if (at < json_end_) return at + 1;  // each byte is read only once
    const auto edit = json_edit_at(text_, at);
    const auto raw = edit ? std::nullopt : raw_call_at(text_, at);
    const auto extent = edit ? edit : raw;
    if (!extent || extent->is_cut_off) {
      const std::string_view rest = text_.substr(at);
      const bool is_cut_off = extent || (rest.find('\n') == std::string_view::npos &&
                                         (rest.starts_with('{') || rest.starts_with("[{")));
      if (!is_cut_off) return at + 1;
      report(at, false, "call_text.not_closed", "the text ends in JSON that is not closed");
      return text_.size();
    }
    scanner_.charge(extent->end - at);
    json_end_ = extent->end;
    const bool is_call = extent->format == EditFormat::kCalls;
    const std::string_view body = trim(text_.substr(at, extent->end - at), kPlainSpaces);
    if (is_call && take_json(at, body)) return extent->end;
    suspects_.note_json(at, body);
    return at + 1;
  }

  [[nodiscard]] bool begins_line_after_blanks(size_t at) const {
    const size_t before = text_.substr(0, at).find_last_not_of(" \t");
    return before == std::string_view::npos || text_[before] == '\n';
  }

  // --- tags -----------------------------------------------------------------------------------

  size_t take_tag(size_t at) {
    const std::string_view rest = text_.substr(at);
    if (rest.starts_with(kFunction)) return take_function(at);
    if (rest.starts_with(kDeepSeekCall)) return take_deepseek(at);
    if (rest.starts_with(kKimiCall)) return take_kimi(at);
    for (const std::string_view mark : {kToolCallMark, kPythonTag}) {
      if (rest.starts_with(mark)) return take_bare_json(scanner_.past_space(at + mark.size()));
    }
    if (rest.starts_with("<|start|>") || rest.starts_with("<|channel|>")) return take_harmony(at);
    if (const size_t end = past_thoughts(at); end > at) return end;
    if (const size_t end = past_thought_before(at); end > at) return end;
    const auto tag = scanner_.tag_at(at);
    if (!tag || tag->is_closing || tag->is_empty) return at + 1;
    if (tag->name == "tool_use") return take_tool_use(at, *tag);
    if (tag->name == "invoke") return take_invoke(at, *tag);
    if (tag->name == "tool_call") return take_tool_call(at, *tag);
    if (tag->name == "tool_calls" || tag->name == "TOOLCALL") return take_json_element(at, *tag);
    const bool is_edit = contains(kEditElements, tag->full_name) && begins_line(at);
    if (is_edit) return take_edit_element(at, *tag);
    const bool is_call = (tag->name == "function" || tag->name == "tool" || tag->name == "call") &&
                         suspects_.is_tool(tag->attribute);
    if (is_call || suspects_.is_tool(tag->full_name)) suspect_element(at, *tag, is_call);
    return at + 1;
  }

  /// Notes an element that is not read, if it is meant as a call. `is_call`: its tag says that it
  /// is one. Between prose, such a tag may be only mentioned.
  void suspect_element(size_t at, const CallTag& open, bool is_call) {
    if (!begins_line_after_blanks(at)) return;
    const auto end = scanner_.end_of_block(open);
    const auto child = scanner_.next_tag(open.end);
    const bool is_other = is_other_tool(open.full_name) &&
                          (end || open.has_attributes || (child && !child->is_closing));
    const bool is_own = (is_call && end) || scanner_.begins_with_parameter(open);
    if (!is_other && (!is_own || at < fence_end_)) return;
    suspects_.note(at, is_other ? open.end : end.value_or(open.end),
                   "<" + std::string(open.full_name) + ">");
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
    suspects_.clear();
    return at + length;
  }

  [[nodiscard]] bool begins_line(size_t at) const { return at == 0 || text_[at - 1] == '\n'; }

  size_t take_tool_call(size_t at, const CallTag& open) {
    const size_t end_of_pairs = take_argument_pairs(at, open);
    return end_of_pairs > open.end ? end_of_pairs : take_json_element(at, open);
  }

  /// Reads an element with JSON in it. If it has other tags in it, they are read separately.
  size_t take_json_element(size_t at, const CallTag& open) {
    const std::string end_tag = "</" + std::string(open.full_name) + ">";
    const std::string_view inside = text_.substr(scanner_.past_space(open.end));
    if (!inside.starts_with('{') && !inside.starts_with('[')) {
      suspect_element(at, open, true);
      return open.end;
    }
    const auto is_whole = [&](size_t stop) {
      scanner_.charge(stop - open.end);
      return parse_json(trim(text_.substr(open.end, stop - open.end), kPlainSpaces)).has_value();
    };
    // The end may be in a string of the JSON, too.
    const size_t first = scanner_.find(end_tag, open.end);
    size_t end = first;
    while (end != std::string_view::npos && !is_whole(end)) end = scanner_.find(end_tag, end + 1);
    if (end == std::string_view::npos && !is_whole(text_.size())) end = first;
    if (end == std::string_view::npos) {
      report(at, true, "call_text.not_closed", end_tag + " is missing: the text ends with it");
    }
    const size_t body_end = std::min(end, text_.size());
    if (!take_json(at, trim(text_.substr(open.end, body_end - open.end), kPlainSpaces))) {
      report(at, false, "call_text.value", "<" + std::string(open.name) + "> has no call in it");
    }
    return end == std::string_view::npos ? text_.size() : end + end_tag.size();
  }

  /// Reads GLM's form: the name, and each argument in two elements. A value is not laid out.
  size_t take_argument_pairs(size_t at, const CallTag& open) {
    constexpr std::string_view kEnd = kToolCallEnd;
    const size_t name_end = std::min(text_.find_first_of("<{", open.end), text_.size());
    const std::string_view name = trim(text_.substr(open.end, name_end - open.end), kPlainSpaces);
    const std::string_view rest = text_.substr(name_end);
    const bool has_arguments = rest.starts_with(kArgKey);
    const bool is_call =
        !name.empty() && name.size() <= kMaxTagBytes &&
        (has_arguments || (rest.starts_with(kEnd) && registry_.has(known_name(name))));
    if (!is_call) return open.end;
    Found found = begin_call(at, name);
    size_t next = name_end;
    while (text_.substr(next).starts_with(kArgKey)) {
      const size_t key_end = scanner_.find("</arg_key>", next);
      const size_t begin =
          key_end == std::string_view::npos
              ? key_end
              : scanner_.past_space(key_end + std::string_view("</arg_key>").size());
      const size_t end =
          begin == std::string_view::npos || !text_.substr(begin).starts_with(kArgValue)
              ? std::string_view::npos
              : scanner_.end_of_pair(begin + kArgValue.size());
      if (end == std::string_view::npos) {
        report(next, false, "call_text.not_closed", "an argument of <tool_call> is not closed");
        return past_block(open);
      }
      const std::string key(
          trim(text_.substr(next, key_end - next).substr(kArgKey.size()), kPlainSpaces));
      if (found.args.contains(key)) {
        report(next, false, "call_text.twice", "the parameter '" + key + "' is given twice");
      }
      const size_t value = begin + kArgValue.size();
      found.args[key] = typed(found, key, std::string(text_.substr(value, end - value)), next);
      next = scanner_.past_space(end + kArgValueEnd.size());
    }
    if (!text_.substr(next).starts_with(kEnd)) {
      report(next, false, "call_text.not_closed", "</tool_call> is missing");
      return past_block(open);
    }
    add(std::move(found));
    next += kEnd.size();
    // A value that has the end of a call in it ends too early.
    const size_t next_call = std::min(scanner_.find("<tool_call>", next), text_.size());
    const size_t stray = text_.substr(next, next_call - next).find(kArgValueEnd);
    if (stray != std::string_view::npos) {
      report(next + stray, false, "call_text.unbalanced",
             "</arg_value> is behind the end of a call: a value has </tool_call> in it");
    }
    return next;
  }

  // --- special tokens -------------------------------------------------------------------------

  /// Reads the arguments of a call: JSON, perhaps in a fence, from `from` to the first `mark`
  /// behind which it is whole.
  size_t take_arguments(size_t at, std::string_view name, size_t from, std::string_view mark) {
    Found found = begin_call(at, trim(name, kPlainSpaces));
    const auto read = [&](size_t end) {
      std::string_view body = trim(text_.substr(from, end - from), kPlainSpaces);
      scanner_.charge(body.size());
      if (body.starts_with(kFence)) {
        body.remove_prefix(std::min(body.find('\n'), body.size()));
        if (body.ends_with(kFence)) body.remove_suffix(kFence.size());
      }
      return parse_json(trim(body, kPlainSpaces));
    };
    const size_t first = scanner_.find(mark, from);
    size_t end = first;
    Result<json> object = json();
    for (; end != std::string_view::npos; end = scanner_.find(mark, end + 1)) {
      object = read(end);
      if (object) break;
    }
    if (end == std::string_view::npos) {
      object = read(text_.size());
      report(at, object.has_value(), "call_text.not_closed",
             object ? std::string(mark) + " is missing: the text ends with the call"
                    : "the arguments of the call are not whole JSON before " + std::string(mark));
      if (!object) return first == std::string_view::npos ? text_.size() : first + mark.size();
    }
    if (!object->is_object()) {
      report(at, false, "call_text.value", "the arguments of the call are not a JSON object");
    } else {
      found.args = *std::move(object);
      add(std::move(found));
    }
    return end == std::string_view::npos ? text_.size() : end + mark.size();
  }

  size_t no_name(size_t at) {
    report(at, false, "call_text.no_name", "the call does not say its tool");
    return at + 1;
  }

  /// `NAME<sep>JSON`, or `function<sep>NAME` and JSON in a fence.
  size_t take_deepseek(size_t at) {
    constexpr std::string_view kSeparator = "<\uff5ctool\u2581sep\uff5c>";
    constexpr std::string_view kEnd = "<\uff5ctool\u2581call\u2581end\uff5c>";
    const size_t begin = at + kDeepSeekCall.size();
    const size_t separator = text_.substr(begin, kMaxTagBytes).find(kSeparator);
    if (separator == std::string_view::npos) return no_name(at);
    const std::string_view head = trim(text_.substr(begin, separator), kPlainSpaces);
    const size_t from = begin + separator + kSeparator.size();
    if (head != "function") return take_arguments(at, head, from, kEnd);
    const size_t line_end = text_.substr(from, kMaxTagBytes).find('\n');
    if (line_end == std::string_view::npos) return no_name(at);
    return take_arguments(at, text_.substr(from, line_end), from + line_end, kEnd);
  }

  /// `functions.NAME:0`, then JSON.
  size_t take_kimi(size_t at) {
    constexpr std::string_view kArguments = "<|tool_call_argument_begin|>";
    const size_t begin = at + kKimiCall.size();
    const size_t end = text_.substr(begin, kMaxTagBytes).find(kArguments);
    if (end == std::string_view::npos) return no_name(at);
    std::string_view name = trim(text_.substr(begin, end), kPlainSpaces);
    if (name.starts_with(kFunctions)) name.remove_prefix(kFunctions.size());
    name = name.substr(0, name.rfind(':'));
    return take_arguments(at, name, begin + end + kArguments.size(), "<|tool_call_end|>");
  }

  /// A message of OpenAI's harmony. If it is for a function, it is a call. Analysis is a thought.
  size_t take_harmony(size_t at) {
    constexpr std::string_view kMessage = "<|message|>";
    constexpr std::string_view kTo = "to=functions.";
    const size_t length = text_.substr(at, kMaxTagBytes).find(kMessage);
    if (length == std::string_view::npos) return at + 1;
    const std::string_view head = text_.substr(at, length);
    const size_t from = at + length + kMessage.size();
    const size_t to = head.find(kTo);
    if (to != std::string_view::npos) {
      const std::string_view name = head.substr(to + kTo.size());
      return take_arguments(at, name.substr(0, name.find_first_of(" <\t\r\n")), from, "<|call|>");
    }
    if (head.find("analysis") == std::string_view::npos) return from;
    // The end of a thought may be missing.
    for (size_t mark = scanner_.find("<|", from); mark != std::string_view::npos;
         mark = scanner_.find("<|", mark + 1)) {
      for (const std::string_view end : {"<|end|>", "<|start|>", "<|channel|>"}) {
        if (text_.substr(mark).starts_with(end)) return mark;
      }
    }
    return text_.size();
  }

  // --- elements of Cline and Roo --------------------------------------------------------------

  /// Reads an element that writes or edits one file, or Roo's list of files in `<args>`.
  size_t take_edit_element(size_t at, const CallTag& open) {
    const auto list = scanner_.next_tag(open.end);
    const bool is_list = list && !list->is_closing && list->name == "args";
    size_t next = open.end;
    if (is_list) {
      next = list->end;
      while (true) {
        const auto file = scanner_.next_tag(next);
        if (!file || file->is_closing || file->name != "file") break;
        const auto end = take_file_element(at, open.name, "file", file->end);
        if (!end) return past_block(open);
        next = *end;
      }
      const auto end = scanner_.next_tag(next);
      if (!end || !end->is_closing || end->name != "args") return not_closed(next, "args", open);
      next = end->end;
      const auto close = scanner_.next_tag(next);
      if (!close || !close->is_closing || close->name != open.name) {
        return not_closed(next, open.name, open);
      }
      return close->end;
    }
    const auto end = take_file_element(at, open.name, open.name, next);
    return end ? *end : past_block(open);
  }

  size_t not_closed(size_t at, std::string_view name, const CallTag& open) {
    report(at, false, "call_text.not_closed", "</" + std::string(name) + "> is missing");
    return past_block(open);
  }

  /// Reads the elements of one file up to the closing tag of `block`. Returns the end.
  std::optional<size_t> take_file_element(size_t at, std::string_view tool, std::string_view block,
                                          size_t from) {
    const std::string end_tag = "</" + std::string(block) + ">";
    ValueEnd end{"",
                 std::string(block),
                 "",
                 end_tag,
                 {"path", "content", "diff", "line_count", "task_progress"},
                 false};
    Found parts;
    std::string diff;
    size_t next = from;
    while (true) {
      const auto tag = scanner_.next_tag(next);
      if (tag && tag->is_closing && tag->name == block) {
        next = tag->end;
        break;
      }
      if (!tag || tag->is_closing || !end.others.contains(std::string(tag->name))) {
        report(next, false, "call_text.not_closed", end_tag + " is missing");
        return {};
      }
      end.element = tag->name;
      const std::string name(tag->name);
      if (!take_value(parts, name, *tag, end, next)) return {};
      if (name != "diff") continue;
      diff += diff_of(parts.args["diff"].get<std::string>());
      parts.args.erase("diff");
    }
    const bool is_write = tool == "write_to_file";
    if (!parts.args.contains("path") ||
        (is_write ? !parts.args.contains("content") : diff.empty())) {
      report(at, false, "call_text.value",
             "<" + std::string(tool) + "> needs <path> and " + (is_write ? "<content>" : "<diff>"));
      return next;
    }
    Found found = begin_call(at, is_write ? "Write" : "Edit");
    const std::string path(trim(parts.args["path"].get<std::string>(), kPlainSpaces));
    if (is_write && is_cut_off(at, path, parts.args)) return next;
    found.args["file_path"] = path;
    found.args[is_write ? "content" : "patch"] = is_write ? parts.args["content"] : json(diff);
    add(std::move(found));
    return next;
  }

  /// Reports a content that has less than half of the lines that <line_count> says, and at least 4
  /// fewer. Models count them wrong, but not by so many.
  bool is_cut_off(size_t at, const std::string& path, const json& parts) {
    constexpr uint64_t kLinesCountedWrong = 3;
    const std::string text = text_member(parts, "line_count");
    const auto said = number_of<uint64_t>(trim(text, kPlainSpaces));
    const size_t count = lines_of_content(parts["content"].get_ref<const std::string&>());
    if (!said || count >= *said - *said / 2 || *said - count <= kLinesCountedWrong) return false;
    report(at, false, "call_text.cut_off",
           "the content of '" + path.substr(0, kMaxQuotedBytes) + "' has " +
               counted(count, "line") + ", and <line_count> says " + std::to_string(*said) +
               ": it was cut off; send all of it");
    return true;
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
      const size_t end = scanner_.end_of_parameter(key_end + 1);
      if (end == std::string_view::npos) return not_closed("</parameter>");
      std::string_view value = without_layout(text_.substr(key_end + 1, end - key_end - 1));
      if (value.ends_with('\n')) value.remove_suffix(1);
      if (found.args.contains(key)) {
        report(next, false, "call_text.twice", "the parameter '" + key + "' is given twice");
      }
      found.args[key] = typed(found, key, std::string(value), next);
      next = scanner_.past_space(end + kParameterEnd.size());
    }
    if (!text_.substr(next).starts_with(kEnd)) return not_closed(kEnd);
    add(std::move(found));
    look_behind(next + kEnd.size());
    return next + kEnd.size();
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
      suspect_element(at, open, true);
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

  void add(Found found) {
    found.call.args = std::make_shared<const json>(std::move(found.args));
    out_.calls.push_back(std::move(found.call));
  }

  /// Converts a value that is laid out to the type in the schema.
  json typed(const Found& found, const std::string& name, std::string_view raw, size_t at) {
    const bool is_marked =
        raw.data() >= text_.data() + kMarkBegin.size() &&
        std::string_view(raw.data() - kMarkBegin.size(), kMarkBegin.size()) == kMarkBegin;
    if (!is_marked) return typed(found, name, std::string(without_layout(raw)), at);
    std::string text = unmarked(raw);
    const std::string_view program = without_layout(text);
    const bool is_whole = name == "content" || name == "contents" || name == "file_text";
    const bool is_first = is_whole && (program.starts_with("#!") || program.starts_with("<?xml"));
    if (is_first && program.size() != text.size()) {
      report(at, true, "call_text.cdata_newline",
             "the newline after '<![CDATA[' was dropped: what follows must be the first line");
      text = std::string(program);
    }
    return typed(found, name, std::move(text), at);
  }

  json typed(const Found& found, const std::string& name, std::string text, size_t at) {
    auto value = argument_of_text(found.schema, name, text);
    if (value) return *std::move(value);
    report(at, false, std::move(value.error().reason), std::move(value.error().message));
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
    add(std::move(found));
    if (is_closed) look_behind(end->end);
    return is_closed ? end->end : text_.size();
  }

  /// A value that has the end of its call in it ends too early: its own end is behind the call.
  void look_behind(size_t call_end) {
    size_t last = call_end;  // of the closing tags right behind the call
    for (size_t at = scanner_.find("<", call_end); at != std::string_view::npos;
         at = scanner_.find("<", at + 1)) {
      const auto tag = scanner_.tag_at(at);
      if (!tag) continue;
      const bool is_block = tag->name == "tool_use" || tag->name == "invoke" ||
                            tag->name == "tool_call" || tag->name.starts_with("function");
      if (!tag->is_closing && is_block) return;
      if (!tag->is_closing) continue;
      const bool is_of_value = tag->name == "parameter" || tag->name == "parameters";
      const bool is_behind = scanner_.past_space(last) == at;
      if (is_of_value || (is_block && !is_behind && tag->name != "function_calls")) {
        report(at, false, "call_text.unbalanced",
               "</" + std::string(tag->full_name) +
                   "> is behind the end of a call: a value has the end of the call in it");
        return;
      }
      if (is_behind) last = tag->end;
    }
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
    const bool is_end = at > 0 && at == fence_end_;  // of a fence that may contain calls as tags
    if (!is_end && at >= fence_end_) fence_end_ = std::min(close, text_.size());
    if (contains(kJson, language)) {
      const std::string_view body =
          trim(text_.substr(head_end, std::min(close, text_.size()) - head_end), kPlainSpaces);
      const bool is_json = body.starts_with('{') || body.starts_with('[');
      if (!is_json) return head_end;  // a plain fence may contain calls as tags
      const bool has_calls = take_json(at, body);
      if (!has_calls) suspects_.note_json(at, body);
      if (!has_calls && close == std::string_view::npos) return head_end;
      if (close == std::string_view::npos) {
        report(at, true, "call_text.not_closed", "the fence is not closed: the text ends with it");
        return text_.size();
      }
    } else if (language == "tool_code") {
      return take_code(at, head_end, close);
    } else if (language == "xml" || close == std::string_view::npos) {
      return head_end;
    }
    return std::min(text_.find('\n', close), text_.size());
  }

  /// Reads a fence with calls in Python's syntax.
  size_t take_code(size_t at, size_t begin, size_t close) {
    const bool is_closed = close != std::string_view::npos;
    const size_t end = is_closed ? close : text_.size();
    const auto calls = read_python_calls(text_.substr(begin, end - begin));
    if (!calls) {
      report(at, false, calls.error().reason, calls.error().message);
    } else if (!is_closed) {
      report(at, true, "call_text.not_closed", "the fence is not closed: the text ends with it");
    }
    for (size_t i = 0; calls && i < calls->size(); ++i) {
      Found found = begin_call(at, (*calls)[i].first);
      found.args = (*calls)[i].second;
      add(std::move(found));
    }
    return is_closed ? std::min(text_.find('\n', close), text_.size()) : text_.size();
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
      const auto lines = parse_json_lines(body);
      if (lines && lines->size() > 1 && take_items(at, *lines)) return true;
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

  /// Whether a document has calls, understood or not.
  bool take_items(size_t at, const json& document) {
    const auto found = calls_of_json(document);
    bool any = false;
    for (const JsonCall& one : found) {
      Found call = one.is_call ? begin_call(at, one.name) : Found();
      if (!one.reason.empty()) report(at, false, one.reason, one.message);
      any = any || one.is_call;
      if (!one.is_call || !one.reason.empty()) continue;
      call.call.call_id = one.call_id;
      call.args = *one.args;
      add(std::move(call));
    }
    return any;
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
      const auto line = std::ranges::upper_bound(lines, place.offset) - 1;
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

  static constexpr std::string_view kMistralMark = "[TOOL_CALLS]";
  static constexpr std::string_view kPythonTag = "<|python_tag|>";
  static constexpr std::string_view kFunction = "<function=";
  static constexpr std::string_view kFunctions = "functions.";

  std::string_view text_;
  const ToolRegistry& registry_;
  CallTextScanner scanner_;
  CallsOfText out_;
  SuspectedCalls suspects_;
  size_t fence_end_ = 0;     // of the fence that was entered last
  size_t json_end_ = 0;      // of the JSON that was read last
  bool reads_bare_ = false;  // JSON outside of fences and elements
};

}  // namespace

bool CallsOfText::is_whole() const {
  return std::ranges::all_of(problems, &CallProblem::is_recovered);
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
