#include "tools/json_calls.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

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
    const bool is_any = std::any_of(found.begin(), found.end(), [](const JsonCall& call) {
      return call.is_call && call.reason.empty();
    });
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

}  // namespace

std::vector<JsonCall> calls_of_json(const json& document) {
  if (!document.is_array()) return calls_of_item(document);
  std::vector<JsonCall> out;
  for (const json& item : document) append(calls_of_item(item), out);
  return out;
}

}  // namespace galley
