#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"
#include "tools/tool_lifecycle.h"

namespace galley {

/// What tools can be given when they are made, by name: a graph, a sanitizer, a sender.
using ToolDependencies = ToolDefinition::Dependencies;

/// A tool that has been made, with what belongs to its life.
struct ToolInstance {
  std::unique_ptr<const Tool> tool;
  std::function<Result<void>()> check_health = {};  ///< asked before it is tried again
  std::function<void()> close = {};                 ///< after its last call
};

/// How a tool is made: once a workspace, at its first call.
struct ToolFactory {
  ToolInfo info;
  std::vector<std::string> needs;  ///< dependencies without which it cannot be made
  std::vector<std::string> takes;  ///< those it uses where they are there
  /// Threads: called on the thread of the first call.
  std::function<Result<ToolInstance>(const ToolDependencies& given)> make;
  TextSanitizer sanitize = {};  ///< as Tool::sanitizer
};

/// A registered factory as a tool: made by its first call, closed after its last.
///
/// Ownership: shares the dependencies until the tool was made; owns the tool.
/// Errors:    of a call: EPERMISSION `tool.draining`; ERUNTIME `tool.dependency`, which names what
///            is missing, `tool.threw`, `tool.factory`, and the factory's own.
class FactoryTool final : public Tool {
 public:
  FactoryTool(ToolFactory factory, std::shared_ptr<const ToolDependencies> dependencies);
  ~FactoryTool() override;

  [[nodiscard]] const ToolInfo& info() const override { return factory_.info; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return factory_.sanitize; }
  Result<Intent> intent(const nlohmann::json& args, const PathOrigin& origin) const override;
  ToolResult run(const nlohmann::json& args, ToolContext& context) const override;

  [[nodiscard]] ToolPhase phase() const { return lifecycle_->phase(); }
  void drain() const { lifecycle_->drain(); }
  /// What the tool says of itself; a tool that was not made yet, or says nothing, is healthy.
  [[nodiscard]] Result<void> check_health() const;
  /// An error of intent() or check_health() as the record has it: with what was thrown last.
  [[nodiscard]] ToolError with_cause(const Error& error) const;

 private:
  Result<void> make();
  Result<ToolInstance> made_from(const ToolDependencies& given) const;
  [[nodiscard]] Error threw(const std::string& what, const std::string& cause) const;

  ToolFactory factory_;
  std::shared_ptr<const ToolDependencies> dependencies_;
  ToolInstance instance_;  ///< set by make(), which the lifecycle runs once
  std::unique_ptr<ToolLifecycle> lifecycle_;
  mutable std::mutex mutex_;
  mutable std::string last_thrown_;  ///< guarded by mutex_
};

}  // namespace galley
