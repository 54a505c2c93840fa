#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// How one tool of another system says what the standard operations do: a call becomes operations,
/// and what those answer becomes the answer in that system's own shape.
///
/// The functions are pure: what is done is done by perform(), on the same road as the standard
/// tools. Errors of plan(): as adapt(); those of the others fail the call, and nothing is staged.
struct Dialect {
  ToolInfo info;
  std::function<Result<std::vector<Operation>>(const nlohmann::json& args,
                                               const PathOrigin& origin)>
      plan;
  /// `results` has the answer of each operation, in order.
  std::function<Result<nlohmann::ordered_json>(const nlohmann::json& args,
                                               const std::vector<nlohmann::ordered_json>& results)>
      answer;
  /// Whether this agent (empty: a person) may call it; null: everybody may.
  std::function<Result<void>(const std::string& agent)> admit = {};
};

/// The answer of a tool that is one operation, and answers as that does.
[[nodiscard]] nlohmann::ordered_json as_it_is(const nlohmann::json& args,
                                              const std::vector<nlohmann::ordered_json>& results);

/// The tool that speaks a dialect. A call is all or nothing, however many operations it is.
[[nodiscard]] std::unique_ptr<const Tool> make_dialect_tool(Dialect dialect);

/// aiOS: the `fs.*` tools, with the input and output of its tool registry.
[[nodiscard]] std::vector<Dialect> aios_dialect();

/// Gemini CLI: names of its own for what other dialects have too.
[[nodiscard]] std::vector<Dialect> gemini_dialect();

/// git's status and diff of the tree as it is proposed, by git in the sandbox.
[[nodiscard]] std::vector<Dialect> git_dialect();

/// What TENEX' tools need to know of a workspace.
struct TenexSettings {
  std::string specs = "specs";             ///< folder of specifications, NAME.md each
  std::string lessons = "lessons";         ///< folder of lessons, EVENT.jsonl each
  std::string agents = "agents";           ///< folder of descriptions of agents, JSON each
  std::string default_agent = "default";   ///< who may update specifications
  std::vector<std::string> orchestrators;  ///< who may look for other agents
  std::vector<std::string> test_command;   ///< of run_tests; empty: there is none
  std::vector<std::string> build_command;  ///< of build_project
};
/// TENEX: its own tools, and those that it knows of Claude Code.
[[nodiscard]] std::vector<Dialect> tenex_dialect(const TenexSettings& settings);

/// Where Nachos' `filesystem` may work: folders of the workspace, each with all below it.
struct NachosFolders {
  std::vector<std::string> allowed = {"."};
};
/// Nachos: `filesystem {action, path, content}`.
[[nodiscard]] std::vector<Dialect> nachos_dialect(const NachosFolders& folders);

}  // namespace galley
