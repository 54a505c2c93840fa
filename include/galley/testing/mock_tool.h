#pragma once

#include <galley/error.h>
#include <galley/tool.h>

#include <memory>
#include <string>
#include <vector>

namespace galley {

/// A tool that answers as it was told beforehand and remembers how it was called.
///
///     MockTool weather("weather.today");
///     weather.answer(R"({"city": "Ulm"})", R"({"degrees": 21})");
///     options.tools.push_back(weather.definition());
///
/// Ownership: shares what it knows with its definitions, which may outlive it.
/// Threads:   safe to share.
class MockTool {
 public:
  /// Takes any object and answers any; `info` says otherwise where a field of it is set.
  explicit MockTool(std::string name, ToolInfo info = {});

  /// The answer to exactly these arguments; the newest counts.
  MockTool& answer(const std::string& arguments_json, std::string answer_json);
  /// The answer to every call that has none of its own.
  MockTool& answer_all(std::string answer_json);
  /// Such a call fails with this.
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

/// The tool `GraphQuery` as SAGE has it ({query, params, commit} to {results}), with answers that a
/// test gives: for tools and agents that ask it, without a history.
///
/// Threads: safe to share.
class MockGraph {
 public:
  explicit MockGraph(std::string name = "GraphQuery");

  /// What a query answers, whatever its parameters and commit: a JSON array.
  MockGraph& answer(const std::string& query, const std::string& results_json);
  [[nodiscard]] ToolDefinition definition() const;
  /// The queries so far.
  [[nodiscard]] std::vector<std::string> queries() const;

 private:
  MockTool tool_;
};

/// A chronicle with events that a test gives: a tool that answers `{"events": […]}`, those whose
/// members equal the members of its argument `where`. An event is an entry of the audit log as
/// `galley audit export --format aios` has it, or any other JSON object.
///
/// Threads: safe to share.
class MockChronicle {
 public:
  explicit MockChronicle(std::string name = "chronicle");

  /// Errors: kInvalid `json.*`, `mock.event` for what is no object.
  Result<void> add(const std::string& event_json);
  [[nodiscard]] ToolDefinition definition() const;

 private:
  struct Events;
  std::string name_;
  std::shared_ptr<Events> events_;
};

}  // namespace galley
