#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/registry.h"

namespace galley {

inline constexpr size_t kMaxCallTextBytes = size_t{64} << 20U;  ///< one text with calls
inline constexpr size_t kMaxCallsInText = 1000;                 ///< calls of one text
inline constexpr size_t kMaxCallProblems = 100;                 ///< problems reported of one text
inline constexpr size_t kMaxReadings = 64;  ///< readings of one text by all searches together

/// A position in a text. Line and column count from 1; column and offset count bytes.
struct TextPlace {
  size_t offset = 0;
  size_t line = 1;
  size_t column = 1;
  bool operator==(const TextPlace&) const = default;
};

/// A call that was found in a text.
struct FoundCall {
  std::string tool;
  std::shared_ptr<const nlohmann::json> args;  ///< an object
  std::string call_id;                         ///< empty if the text does not give one
  TextPlace place;
};

/// A malformed call in a text.
struct CallProblem {
  std::string reason;   ///< `call_text.*`, `tool.unknown`
  std::string message;  ///< one sentence, with the place
  TextPlace place;
  bool is_recovered = false;  ///< the meaning is clear, and the text was read that way
};

/// The calls in a text, in order.
struct CallsOfText {
  std::vector<FoundCall> calls;
  std::vector<CallProblem> problems;
  /// Whether every call that begins in the text was understood.
  [[nodiscard]] bool is_whole() const;
};

/// Finds the calls in a text of a model. Other text is ignored.
///
///     <tool_use><tool_name>T</tool_name><parameters><p>value</p></parameters></tool_use>
///     <function_calls><invoke name="T"><parameter name="p">value</parameter></invoke>…
///     ```json {"tool": "T", "args": {…}}  or  {"name": "T", "arguments": {…}}, or a list of them
///     <tool_call>{"name": "T", "arguments": {…}}</tool_call>, <tool_calls>[…]</tool_calls>,
///     <TOOLCALL>[…]</TOOLCALL>  or  <|tool_call|>[…]
///     <function=T>{…}</function>  or  <function=T><parameter=p>value</parameter></function>
///     <tool_call>T<arg_key>p</arg_key><arg_value>value</arg_value></tool_call>  of GLM
///     the special tokens of DeepSeek, Kimi and OpenAI's harmony around a name and JSON
///     ```tool_code T(p="value")  of Gemini (read_python_calls())
///     <write_to_file>, <replace_in_file>, <apply_diff>  of Cline and Roo: calls of Write and Edit
///
/// The whole text may also be JSON: one of these objects, a `tool_use` of Anthropic, a `function`
/// of OpenAI, a `functionCall` of Gemini, or a message or response that contains them. It may
/// follow `[TOOL_CALLS]`. If the text has no call in these forms, such objects between prose are
/// calls, each at the start of a line.
///
/// A value is taken byte for byte, including markup, `<` and `&`. One newline directly after its
/// opening tag is ignored. It may be wrapped in `<![CDATA[…]]>`. The tool's input schema determines
/// its type; without a type in the schema it is text. Fences of other languages are code, not
/// calls.
/// Errors: kQuota `limit.call_text`, for a text that is too large or would take too long.
Result<CallsOfText> parse_tool_calls(std::string_view text, const ToolRegistry& registry);

}  // namespace galley
