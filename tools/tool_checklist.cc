#include "tools/tool_checklist.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/contains.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using Outcome = ToolCheckPoint::Outcome;

constexpr const char* kUnknownMember = "galley_unknown_member";
constexpr std::array<std::string_view, 7> kHeadings = {
    "Purpose", "When Used", "Parameters", "Returns", "Configuration", "Limitations", "Performance"};

ToolCheckPoint judged(std::string name, bool is_met, std::string message) {
  return {std::move(name), is_met ? Outcome::kMet : Outcome::kNotMet, std::move(message)};
}

ToolCheckPoint unchecked(std::string name, const std::string& why) {
  return {std::move(name), Outcome::kNotChecked, "not checked here: " + why};
}

ToolCheckPoint results_point(const std::vector<ToolTrial>& trials) {
  size_t count = 0;
  std::string failed;
  for (const ToolTrial& trial : trials) {
    if (trial.is_wrong) continue;
    ++count;
    if (trial.result.ok) continue;
    const ToolError& error = *trial.result.error;
    const bool is_the_tools = error.code == ToolErrorCode::kValidation ||
                              error.reason == "tool.output" || error.reason == "tool.threw";
    if (is_the_tools) {
      return judged("returns a valid result", false,
                    "the example " + trial.arguments + " fails: " + error.message);
    }
    failed += (failed.empty() ? "" : ", ") + error.reason;
  }
  if (count == 0) return judged("returns a valid result", false, "it has no examples to run");
  return judged("returns a valid result", true,
                std::to_string(count) + " examples ran and conform to the output schema" +
                    (failed.empty() ? "" : "; in this workspace some answer " + failed));
}

ToolCheckPoint schema_point(const ToolInfo& info) {
  const json input = json::parse(info.input_schema, nullptr, false);
  if (info.description.empty()) {
    return judged("provides a valid schema", false, "it has no description");
  }
  if (!input.is_object() || input.value("type", json()) != "object") {
    return judged("provides a valid schema", false, "its input schema is not of type object");
  }
  const json members = input.value("properties", json::object());
  for (const auto& [name, member] : members.items()) {
    if (member.is_object() && !member.empty()) continue;
    return judged("provides a valid schema", false, "'" + name + "' has no schema of its own");
  }
  return judged("provides a valid schema", true, "name, description and schemas can be judged");
}

ToolCheckPoint inputs_point(const ToolInfo& info) {
  const json input = json::parse(info.input_schema, nullptr, false);
  const bool is_closed = input.is_object() && input.value("additionalProperties", json()) == false;
  return judged("sanitizes all inputs", is_closed,
                is_closed
                    ? "every argument is validated against the schema, unknown ones are refused"
                    : "its input schema takes unknown arguments (additionalProperties)");
}

ToolCheckPoint errors_point(const std::vector<ToolTrial>& trials) {
  size_t count = 0;
  for (const ToolTrial& trial : trials) {
    if (!trial.is_wrong) continue;
    ++count;
    if (!trial.result.ok && trial.result.error->code == ToolErrorCode::kValidation) continue;
    return judged("handles errors gracefully", false,
                  "the wrong arguments " + trial.arguments + " are answered with " +
                      (trial.result.ok ? "success" : trial.result.error->reason));
  }
  if (count == 0) {
    return judged("handles errors gracefully", false, "it has no examples to make wrong calls of");
  }
  return judged("handles errors gracefully", true,
                std::to_string(count) + " wrong calls were answered with EVALIDATION");
}

ToolCheckPoint timeout_point(const ToolInfo& info) {
  return judged("has timeout protection", true,
                info.timeout ? "it has " + std::to_string(info.timeout->count()) + " ms a call"
                             : "a call has the time of its category");
}

ToolCheckPoint security_point(const ToolInfo& info) {
  const bool is_external =
      info.category == ToolInfo::Category::kApi || info.category == ToolInfo::Category::kMcp;
  const char* name = "passes a security review, if it uses external services";
  if (!is_external) return judged(name, true, "its category says that it uses none");
  return unchecked(name, "people review a tool that reaches other machines");
}

/// The text of a heading without its marks: `## 2. When Used` and `**When Used**: …`.
std::string heading_of(std::string_view line) {
  const size_t begin = line.find_first_not_of("#*_ \t-.0123456789");
  if (begin == std::string_view::npos || begin == 0) return {};
  line.remove_prefix(begin);
  return std::string(line.substr(0, line.find_first_of("*_:\r")));
}

std::string trimmed_end(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

json points_json(const std::vector<ToolCheckPoint>& points) {
  static constexpr std::array kNames = {"met", "not_met", "not_checked"};
  json out = json::array();
  for (const ToolCheckPoint& point : points) {
    out.push_back({{"name", point.name},
                   {"outcome", kNames.at(static_cast<size_t>(point.outcome))},
                   {"message", point.message}});
  }
  return out;
}

bool is_met(const std::vector<ToolCheckPoint>& points) {
  return !contains(points, Outcome::kNotMet, &ToolCheckPoint::outcome);
}

}  // namespace

std::vector<std::string> wrong_arguments(const ToolInfo& info) {
  std::vector<std::string> out;
  for (const std::string& example : info.examples) {
    const json good = json::parse(example, nullptr, false);
    if (!good.is_object()) continue;
    json more = good;
    more[kUnknownMember] = true;
    out.push_back(json_text(more));
    for (const auto& [name, value] : good.items()) {
      json wrong = good;
      // Arrays become objects, other values become [[]]: no member of a tool accepts both.
      wrong[name] = value.is_array() ? json::object() : json::array({json::array()});
      out.push_back(json_text(wrong));
    }
  }
  const json schema = json::parse(info.input_schema, nullptr, false);
  const bool needs_some = schema.is_object() && (schema.contains("anyOf") ||
                                                 !schema.value("required", json::array()).empty());
  if (needs_some) out.emplace_back("{}");
  return out;
}

std::vector<ToolCheckPoint> check_tool(const ToolRegistry::Entry& entry,
                                       const std::vector<ToolTrial>& trials,
                                       std::string_view documentation) {
  const ToolInfo& info = entry.tool->info();
  const auto headings = check_tool_documentation(documentation);
  const std::string in_other_repository = "a tool's tests are where its source is";
  return {judged("implements the tool interface", true, "it can be called by its name"),
          judged("is registered", true, "as '" + info.name + "', version " + info.version),
          results_point(trials),
          schema_point(info),
          inputs_point(info),
          errors_point(trials),
          timeout_point(info),
          unchecked("has unit tests (over 80 % coverage)", in_other_repository),
          unchecked("has integration tests", in_other_repository),
          judged("has documentation", is_met(headings),
                 documentation.empty() ? "no page was found"
                 : is_met(headings)    ? "its page has the seven headings"
                                       : "its page lacks some of the seven headings"),
          unchecked("follows the privacy-first invariant",
                    "what a tool does with what it was given shows in its source"),
          security_point(info)};
}

std::vector<ToolCheckPoint> check_tool_documentation(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (std::string heading = trimmed_end(heading_of(text.substr(at, end - at)));
        !heading.empty()) {
      found.push_back(std::move(heading));
    }
    at = end + 1;
  }
  std::vector<ToolCheckPoint> points;
  for (const std::string_view heading : kHeadings) {
    const bool is_there = contains(found, heading);
    points.push_back(
        judged(std::string(heading), is_there, is_there ? "is there" : "the heading is missing"));
  }
  return points;
}

bool has_tool_heading(std::string_view text) {
  const auto points = check_tool_documentation(text);
  return contains(points, Outcome::kMet, &ToolCheckPoint::outcome);
}

nlohmann::ordered_json checklist_json(const std::string& tool,
                                      const std::vector<ToolCheckPoint>& points,
                                      const std::vector<ToolCheckPoint>& headings) {
  return {{"schema", "galley.tool-check/1"},
          {"ok", is_met(points) && is_met(headings)},
          {"tool", tool},
          {"points", points_json(points)},
          {"documentation", points_json(headings)}};
}

}  // namespace galley
