// Finds the calls in any bytes in bounded time. Each call is at the place that it names. A call
// that is quoted as a value of a call is returned unchanged.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/standard_tools.h"
#include "tools/tool_call_parser.h"

namespace {

const galley::ToolRegistry& registry() {
  static const auto* tools = [] {
    auto* made = new galley::ToolRegistry();
    GALLEY_CHECK(galley::add_standard_tools(*made).has_value());
    return made;
  }();
  return *tools;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto found = galley::parse_tool_calls(text, registry());
  if (!found) return 0;
  size_t last = 0;
  for (const galley::FoundCall& call : found->calls) {
    GALLEY_CHECK(call.place.offset >= last && call.place.offset < size);
    GALLEY_CHECK(call.args != nullptr && call.args->is_object());
    last = call.place.offset;
  }
  for (const galley::CallProblem& problem : found->problems) {
    GALLEY_CHECK(problem.place.offset <= size && problem.place.line > 0);
  }
  if (text.find("</arg_value>") == std::string_view::npos) {
    const auto pairs =
        galley::parse_tool_calls("<tool_call>Write\n<arg_key>content</arg_key><arg_value>" +
                                     std::string(text) + "</arg_value></tool_call>",
                                 registry());
    GALLEY_CHECK(pairs.has_value() && pairs->calls.size() == 1);
    GALLEY_CHECK(pairs->calls[0].args->at("content") == text);
  }
  if (text.find("]]>") != std::string_view::npos) return 0;
  const auto quoted = galley::parse_tool_calls(
      "<tool_use><tool_name>Write</tool_name><parameters><content><![CDATA[" + std::string(text) +
          "]]></content></parameters></tool_use>",
      registry());
  GALLEY_CHECK(quoted.has_value() && quoted->calls.size() == 1);
  GALLEY_CHECK(quoted->calls[0].args->at("content") == text);
  return 0;
}
