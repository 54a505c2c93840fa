#include "tools/tool_factory.h"

#include <nlohmann/json.hpp>

namespace galley {

FactoryTool::FactoryTool(ToolFactory factory, std::shared_ptr<const ToolDependencies> dependencies)
    : factory_(std::move(factory)), dependencies_(std::move(dependencies)) {
  lifecycle_ = std::make_unique<ToolLifecycle>(
      factory_.info.name, [this] { return make(); },
      [this] {
        if (instance_.close) instance_.close();
      });
}

FactoryTool::~FactoryTool() { lifecycle_.reset(); }

Result<void> FactoryTool::make() {
  const std::string& name = factory_.info.name;
  for (const std::string& need : factory_.needs) {
    if (dependencies_ != nullptr && dependencies_->contains(need)) continue;
    return fail(ErrorKind::kNotFound, "tool.dependency",
                "the tool '" + name + "' needs '" + need +
                    "', which this workspace was not given; open it with that dependency");
  }
  // Only what it names: it cannot come to depend on what else there happens to be.
  ToolDependencies given;
  for (const auto* names : {&factory_.needs, &factory_.takes}) {
    for (const std::string& one : *names) {
      if (dependencies_ == nullptr) break;
      if (const auto found = dependencies_->find(one); found != dependencies_->end()) {
        given.insert(*found);
      }
    }
  }
  GALLEY_ASSIGN(ToolInstance made, factory_.make(given));
  const bool is_same = made.tool != nullptr && made.tool->info().name == name &&
                       made.tool->info().input_schema == factory_.info.input_schema &&
                       made.tool->info().output_schema == factory_.info.output_schema;
  if (!is_same) {
    return fail(ErrorKind::kInternal, "tool.factory",
                "the factory of the tool '" + name +
                    "' made none, or one of another name or with other schemas");
  }
  instance_ = std::move(made);
  return {};
}

Result<Intent> FactoryTool::intent(const nlohmann::json& args, const PathOrigin& origin) const {
  GALLEY_ASSIGN(const ToolLifecycle::Stay stay, lifecycle_->enter());
  return instance_.tool->intent(args, origin);
}

ToolResult FactoryTool::run(const nlohmann::json& args, ToolContext& context) const {
  const auto stay = lifecycle_->enter();
  if (!stay) return ToolResult::failure(tool_error_from(stay.error()));
  return instance_.tool->run(args, context);
}

Result<void> FactoryTool::check_health() const {
  if (lifecycle_->phase() != ToolPhase::kReady) return {};
  const auto stay = lifecycle_->enter();
  if (!stay || !instance_.check_health) return {};
  try {
    return instance_.check_health();
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInternal, "tool.threw",
                "the health check of '" + factory_.info.name + "' failed: " + error.what());
  }
}

}  // namespace galley
