#include "engine/pipeline/own_tools.h"

#include <map>
#include <string>
#include <utility>

#include "tools/tool_factory.h"

namespace galley {
namespace {

ToolStanding standing_of(const ToolDefinition& tool) {
  ToolStanding standing;
  standing.priority = tool.priority;
  standing.availability.agents = tool.agents;
  standing.availability.capabilities = tool.only_if_given;
  standing.follows_from_contents = tool.follows_from_contents;
  if (tool.is_available) {
    standing.availability.holds = [holds = tool.is_available](const ToolCaller& caller) {
      try {
        return holds(caller.agent, caller.session);
      } catch (...) {
        return false;  // who cannot say that it is there is not there
      }
    };
  }
  return standing;
}

/// A definition that is made at its first call, with `[tools.NAME] config` beside what it names.
ToolFactory factory_of(ToolDefinition tool, std::map<std::string, std::string> config) {
  ToolFactory factory;
  factory.info = tool.info;
  factory.needs = tool.needs;
  factory.takes = tool.takes;
  factory.sanitize = tool.sanitize;
  factory.make = [tool = std::move(tool), config = std::move(config)](
                     const ToolDependencies& given) -> Result<ToolInstance> {
    ToolDependencies all = given;
    all["config"] = config;
    GALLEY_ASSIGN(ToolDefinition::Instance made, tool.make(all));
    ToolDefinition once;
    once.info = tool.info;
    once.run = std::move(made.run);
    GALLEY_ASSIGN(auto runs, make_defined_tool(std::move(once)));
    return ToolInstance{std::move(runs), std::move(made.check_health), std::move(made.close)};
  };
  return factory;
}

}  // namespace

Result<void> add_own_tool(const WorkspaceState& workspace, ToolRegistry& registry,
                          ToolDefinition tool) {
  ToolStanding standing = standing_of(tool);
  if (!tool.make) {
    GALLEY_ASSIGN(auto made, make_defined_tool(std::move(tool)));
    return registry.add(std::move(made), std::move(standing));
  }
  const auto config = workspace.config.tools.find(tool.info.name);
  return registry.add(factory_of(std::move(tool), config == workspace.config.tools.end()
                                                      ? std::map<std::string, std::string>()
                                                      : config->second.config),
                      std::move(standing));
}

}  // namespace galley
