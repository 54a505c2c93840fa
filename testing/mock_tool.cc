#include <galley/testing/mock_tool.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr const char* kAnyObject = R"({"type": "object"})";

/// Returns the canonical form of arguments: members sorted, no spaces. Text that is not JSON stays
/// unchanged.
std::string canonical(const std::string& text) {
  const auto document = parse_json(text);
  return document ? json_text(*document) : text;
}

ToolInfo info_of(std::string name, ToolInfo info) {
  info.name = std::move(name);
  if (info.title.empty()) info.title = info.name;
  if (info.description.empty()) info.description = "Answers what a test told it to.";
  if (info.input_schema.empty()) info.input_schema = kAnyObject;
  if (info.output_schema.empty()) info.output_schema = kAnyObject;
  return info;
}

}  // namespace

// --- a tool ---------------------------------------------------------------------------------

struct MockTool::Script {
  explicit Script(ToolInfo tool) : info(std::move(tool)) {}

  ToolInfo info;
  std::mutex mutex;
  std::map<std::string, Result<std::string>> answers;  ///< by canonical arguments
  std::optional<std::string> answer_to_all;
  std::vector<std::string> calls;

  Result<std::string> take(const std::string& arguments) {
    const std::lock_guard lock(mutex);
    calls.push_back(arguments);
    const auto found = answers.find(canonical(arguments));
    if (found != answers.end()) return found->second;
    if (answer_to_all) return *answer_to_all;
    return galley::fail(ErrorKind::kNotFound, "mock.no_answer",
                        "the mock of '" + info.name + "' was told no answer to " + arguments);
  }
};

MockTool::MockTool(std::string name, ToolInfo info)
    : script_(std::make_shared<Script>(info_of(std::move(name), std::move(info)))) {}

MockTool& MockTool::answer(const std::string& arguments_json, std::string answer_json) {
  const std::lock_guard lock(script_->mutex);
  script_->answers.insert_or_assign(canonical(arguments_json), std::move(answer_json));
  return *this;
}

MockTool& MockTool::answer_all(std::string answer_json) {
  const std::lock_guard lock(script_->mutex);
  script_->answer_to_all = std::move(answer_json);
  return *this;
}

MockTool& MockTool::fail(const std::string& arguments_json, Error error) {
  const std::lock_guard lock(script_->mutex);
  script_->answers.insert_or_assign(canonical(arguments_json),
                                    tl::unexpected<Error>(std::move(error)));
  return *this;
}

ToolDefinition MockTool::definition() const {
  return {script_->info,
          [script = script_](ToolRun& call) { return script->take(call.arguments()); }};
}

std::vector<std::string> MockTool::calls() const {
  const std::lock_guard lock(script_->mutex);
  return script_->calls;
}

// --- a graph --------------------------------------------------------------------------------

namespace {

ToolInfo graph_info() {
  ToolInfo info;
  info.description = "Answers queries as a test told it to.";
  info.input_schema = R"({"type": "object", "required": ["query"], "additionalProperties": false,
    "properties": {"query": {"type": "string"}, "params": {"type": "object"},
                   "commit": {"type": "string"}}})";
  info.output_schema = R"({"type": "object", "required": ["results"],
    "properties": {"results": {"type": "array"}}})";
  info.annotations.read_only = true;  // not idempotent: no answer comes from a cache
  info.risk_level = ToolInfo::Risk::kLow;
  info.security_tier = ToolInfo::Tier::kStandard;
  return info;
}

std::string query_of(const std::string& arguments) {
  const auto document = parse_json(arguments);
  return document && document->contains("query") ? (*document)["query"].get<std::string>() : "";
}

}  // namespace

MockGraph::MockGraph(std::string name) : tool_(std::move(name), graph_info()) {}

MockGraph& MockGraph::answer(const std::string& query, const std::string& results_json) {
  tool_.answer(json{{"query", query}}.dump(), R"({"results": )" + results_json + "}");
  return *this;
}

ToolDefinition MockGraph::definition() const {
  return {tool_.script_->info, [script = tool_.script_](ToolRun& call) {
            return script->take(json{{"query", call.text("query")}}.dump());
          }};
}

std::vector<std::string> MockGraph::queries() const {
  std::vector<std::string> queries;
  for (const std::string& call : tool_.calls()) queries.push_back(query_of(call));
  return queries;
}

// --- a chronicle ----------------------------------------------------------------------------

struct MockChronicle::Events {
  std::mutex mutex;
  std::vector<json> all;
};

MockChronicle::MockChronicle(std::string name)
    : name_(std::move(name)), events_(std::make_shared<Events>()) {}

Result<void> MockChronicle::add(const std::string& event_json) {
  GALLEY_ASSIGN(json event, parse_json(event_json));
  if (!event.is_object()) {
    return galley::fail(ErrorKind::kInvalid, "mock.event", "an event is a JSON object");
  }
  const std::lock_guard lock(events_->mutex);
  events_->all.push_back(std::move(event));
  return {};
}

ToolDefinition MockChronicle::definition() const {
  ToolInfo info = graph_info();
  info.name = info.title = name_;
  info.description = "Answers the events that a test gave it.";
  info.input_schema = R"({"type": "object", "additionalProperties": false,
    "properties": {"where": {"type": "object"}}})";
  info.output_schema = R"({"type": "object", "required": ["events"],
    "properties": {"events": {"type": "array"}}})";
  return {std::move(info), [events = events_](ToolRun& call) -> Result<std::string> {
            GALLEY_ASSIGN(const json arguments, parse_json(call.arguments()));
            const json where = arguments.value("where", json::object());
            json found = json::array();
            const std::lock_guard lock(events->mutex);
            for (const json& event : events->all) {
              const auto items = where.items();
              const bool is_meant = std::all_of(items.begin(), items.end(), [&](const auto& item) {
                return event.contains(item.key()) && event[item.key()] == item.value();
              });
              if (is_meant) found.push_back(event);
            }
            return json{{"events", std::move(found)}}.dump();
          }};
}

}  // namespace galley
