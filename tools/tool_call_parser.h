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

/// Where something stands in a text; line and column count from 1, columns and offset in bytes.
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
  std::string call_id;                         ///< where the text gives one
  TextPlace place;
};

/// A place of a text that is no call as it should be.
struct CallProblem {
  std::string reason;   ///< `call_text.*`, `tool.unknown`
  std::string message;  ///< one sentence, with the place
  TextPlace place;
  bool is_recovered = false;  ///< it is clear what was meant, and it was taken so
};

/// The calls of a text, in its order.
struct CallsOfText {
  std::vector<FoundCall> calls;
  std::vector<CallProblem> problems;
  /// Every call that the text begins was understood.
  [[nodiscard]] bool is_whole() const;
};

/// Finds the calls in what a model wrote. Text around them is passed over.
///
///     <tool_use><tool_name>T</tool_name><parameters><p>value</p></parameters></tool_use>
///     <function_calls><invoke name="T"><parameter name="p">value</parameter></invoke>…
///     ```json {"tool": "T", "args": {…}}  or  {"name": "T", "arguments": {…}}, or a list of them
///     <tool_call>{"name": "T", "arguments": {…}}</tool_call>
///     <function=T>{…}</function>  or  <function=T><parameter=p>value</parameter></function>
///
/// A text may also be JSON as a whole: one of these, a `tool_use` of Anthropic, a `function` of
/// OpenAI, a message or a response that holds such. `[TOOL_CALLS]` may be before it.
///
/// A value is taken byte for byte, markup, `<` and `&` too; one newline right behind its opening
/// tag is layout. `<![CDATA[…]]>` may stand round it. What type it has the tool's input schema
/// says; without one in it, it is a text. Fences of other languages are code, not calls.
/// Errors: kQuota `limit.call_text`, for a text that is too large or would take too long.
Result<CallsOfText> parse_tool_calls(std::string_view text, const ToolRegistry& registry);

}  // namespace galley
