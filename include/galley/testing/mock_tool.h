#pragma once

#include <galley/error.h>
#include <galley/tool.h>

#include <memory>
#include <string>
#include <vector>

namespace galley {

/// A tool that returns prepared answers and records its calls.
///
///     MockTool weather("weather.today");
///     weather.answer(R"({"city": "Ulm"})", R"({"degrees": 21})");
///     options.tools.push_back(weather.definition());
///
/// Ownership: shares its state with its definitions. They may outlive it.
/// Threads:   safe to share.
class MockTool {
 public:
  /// Its schemas accept any object. Members that are set in `info` replace the defaults.
  explicit MockTool(std::string name, ToolInfo info = {});

  /// Sets the answer to calls with exactly these arguments. A later answer replaces it.
  MockTool& answer(const std::string& arguments_json, std::string answer_json);
  /// Sets the answer to all calls with other arguments.
  MockTool& answer_all(std::string answer_json);
  /// Makes calls with exactly these arguments fail with this error.
  MockTool& fail(const std::string& arguments_json, Error error);

  /// Returns the definition for WorkspaceOptions::tools or Workspace::add_tool. A call without an
  /// answer fails with `mock.no_answer`, which shows its arguments.
  [[nodiscard]] ToolDefinition definition() const;
  /// Returns the arguments of every call so far, as JSON.
  [[nodiscard]] std::vector<std::string> calls() const;

 private:
  friend class MockGraph;
  struct Script;
  std::shared_ptr<Script> script_;
};

/// A mock of the tool `GraphQuery` of SAGE, for tests of tools and agents that query its graph. It
/// takes `{query, params, commit}` and returns `{results}`.
///
/// Threads: safe to share.
class MockGraph {
 public:
  explicit MockGraph(std::string name = "GraphQuery");

  /// Sets the answer to a query, a JSON array. It applies to all parameters and commits.
  MockGraph& answer(const std::string& query, const std::string& results_json);
  [[nodiscard]] ToolDefinition definition() const;
  /// Returns the queries so far.
  [[nodiscard]] std::vector<std::string> queries() const;

 private:
  MockTool tool_;
};

/// A mock of a SAGE chronicle (a log of events) with events from the test. Its tool returns
/// `{"events": […]}`: all events that have the members of its argument `where`. An event is a JSON
/// object, for example an entry of the audit log from `galley audit export --format aios`.
///
/// Threads: safe to share.
class MockChronicle {
 public:
  explicit MockChronicle(std::string name = "chronicle");

  /// Adds an event.
  /// Errors: kInvalid `json.*`, or `mock.event` for JSON that is not an object.
  Result<void> add(const std::string& event_json);
  [[nodiscard]] ToolDefinition definition() const;

 private:
  struct Events;
  std::string name_;
  std::shared_ptr<Events> events_;
};

}  // namespace galley
