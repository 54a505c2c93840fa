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
/// Ownership: shares its state with its definitions, which may outlive it.
/// Threads:   safe to share.
class MockTool {
 public:
  /// Accepts and returns any object; a field that is set in `info` overrides this.
  explicit MockTool(std::string name, ToolInfo info = {});

  /// Sets the answer to exactly these arguments; the newest one counts.
  MockTool& answer(const std::string& arguments_json, std::string answer_json);
  /// Sets the answer to every call without an answer of its own.
  MockTool& answer_all(std::string answer_json);
  /// Makes a call with these arguments fail with this error.
  MockTool& fail(const std::string& arguments_json, Error error);

  /// For WorkspaceOptions::tools or Workspace::add_tool. A call without an answer fails with
  /// `mock.no_answer`, which shows its arguments.
  [[nodiscard]] ToolDefinition definition() const;
  /// The arguments of every call so far, as JSON.
  [[nodiscard]] std::vector<std::string> calls() const;

 private:
  friend class MockGraph;
  struct Script;
  std::shared_ptr<Script> script_;
};

/// The tool `GraphQuery` of SAGE ({query, params, commit} to {results}), with answers from the
/// test. It serves tools and agents that query the graph, without a history.
///
/// Threads: safe to share.
class MockGraph {
 public:
  explicit MockGraph(std::string name = "GraphQuery");

  /// Sets the answer to a query, for all parameters and commits: a JSON array.
  MockGraph& answer(const std::string& query, const std::string& results_json);
  [[nodiscard]] ToolDefinition definition() const;
  /// The queries so far.
  [[nodiscard]] std::vector<std::string> queries() const;

 private:
  MockTool tool_;
};

/// A chronicle with events from the test. Its tool answers `{"events": […]}`: the events whose
/// members equal the members of its argument `where`. An event is an entry of the audit log as
/// `galley audit export --format aios` prints it, or any other JSON object.
///
/// Threads: safe to share.
class MockChronicle {
 public:
  explicit MockChronicle(std::string name = "chronicle");

  /// Errors: kInvalid `json.*`, `mock.event` for JSON that is not an object.
  Result<void> add(const std::string& event_json);
  [[nodiscard]] ToolDefinition definition() const;

 private:
  struct Events;
  std::string name_;
  std::shared_ptr<Events> events_;
};

}  // namespace galley
