#include "tools/unread_calls.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/contains.h"
#include "staging/formats/answer.h"
#include "tools/call_text_scanner.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kMaxSuspects = 10'000;

template <typename Wanted>
bool has_any(const json& object, std::initializer_list<const char*> keys, Wanted is_wanted) {
  return std::ranges::any_of(
      keys, [&](const char* key) { return object.contains(key) && is_wanted(object[key]); });
}

bool is_any(const json&) { return true; }
bool is_object(const json& value) { return value.is_object(); }

/// Whether JSON may be a call: a message, a result or the definition of a tool is not one.
bool may_be_call(const json& document) {
  static constexpr std::array<std::string_view, 8> kTypes = {
      "",          "tool_use",         "function",         "function_call",
      "tool_call", "custom_tool_call", "local_shell_call", "apply_patch_call"};
  return document.is_object() &&
         !has_any(document, {"role", "description", "tool_call_id", "tool_use_id"}, is_any) &&
         !has_any(document, {"function"},
                  [](const json& of) { return of.contains("description"); }) &&
         contains(kTypes, text_member(document, "type"));
}

bool has_arguments(const json& document) {
  return has_any(
      document, {"args", "arguments", "parameters", "input", "params", "tool_input", "kwargs"},
      [](const json& value) {
        return value.is_object() ||
               (value.is_string() && value.get_ref<const std::string&>().starts_with('{'));
      });
}

}  // namespace

bool is_other_tool(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kNames = {
      "append_to_file",    "apply_diff",         "replace_in_file", "write_to_file",
      "create_file",       "delete_file",        "edit_file",       "execute_command",
      "insert_code_block", "insert_content",     "list_files",      "list_code_definition_names",
      "move_file",         "read_file",          "rename_file",     "run_command",
      "run_terminal_cmd",  "search_and_replace", "search_files",    "use_mcp_tool"};
  return contains(kNames, name);
}

bool is_meant_beside_calls(const json& item) {
  if (item.is_array()) return std::ranges::any_of(item, is_meant_beside_calls);
  if (item.is_string()) return item.get_ref<const std::string&>().starts_with('{');
  return may_be_call(item) &&
         (!text_member(item, "type").empty() || !called_name(item).empty() ||
          has_any(item, {"function", "functionCall", "function_call"}, is_object));
}

std::string called_name(const json& item) {
  for (const char* key : {"name", "tool", "tool_name", "recipient_name", "function"}) {
    if (std::string name = text_member(item, key); !name.empty())
      return name.substr(0, kMaxTagBytes);
  }
  return "";
}

bool SuspectedCalls::is_tool(std::string_view name) const {
  return is_other_tool(name) || registry_.has(name);
}

void SuspectedCalls::note(size_t begin, size_t end, std::string what) {
  if (parts_.size() < kMaxSuspects) {
    parts_.push_back({begin, end, std::move(what)});
  } else {
    parts_.back() = {begin, begin, "more than " + std::to_string(kMaxSuspects) + " elements: one"};
  }
}

void SuspectedCalls::note_json(size_t at, std::string_view body) {
  static const re2::RE2 kName(
      R"re("(?:name|tool|tool_name|recipient_name|function)"\s*:\s*"([^"\\]+)")re");
  const auto is_meant = [this](const json& item) {
    return may_be_call(item) && has_arguments(item) && is_tool(called_name(item));
  };
  const auto document = parse_json(body);
  const auto broken = document ? std::nullopt : raw_call_at(body, 0);
  std::string name;
  const bool is_one = document && document->is_array() ? std::ranges::any_of(*document, is_meant)
                      : document                       ? is_meant(*document)
                                 : broken && broken->format == EditFormat::kCalls &&
                                       re2::RE2::PartialMatch(body, kName, &name) && is_tool(name);
  if (is_one) note(at, at + 1, "the JSON");
}

std::vector<CallProblem> SuspectedCalls::problems(const CallsOfText& found) const {
  std::vector<CallProblem> out;
  for (const Part& part : found.calls.empty() ? std::vector<Part>() : parts_) {
    const auto is_in = [&part](const TextPlace& place) {
      return part.begin <= place.offset && place.offset < part.end;
    };
    const bool is_read =
        std::ranges::any_of(found.calls,
                            [&](const FoundCall& call) { return is_in(call.place); }) ||
        std::ranges::any_of(found.problems, [&](const CallProblem& problem) {
          return !problem.is_recovered && is_in(problem.place);
        });
    if (!is_read) out.push_back({"edit.unread", part.what + kNotRead, {part.begin, 1, 1}, false});
  }
  return out;
}

}  // namespace galley
