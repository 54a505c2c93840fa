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
  GALLEY_ASSIGN(ToolInstance made, made_from(given));
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

/// What whoever registered the tool throws is a failure of the tool.
Result<ToolInstance> FactoryTool::made_from(const ToolDependencies& given) const {
  const std::string what = "the tool '" + factory_.info.name + "' could not be made";
  try {
    return factory_.make(given);
  } catch (const std::exception& error) {
    return threw(what, error.what());
  } catch (...) {
    return threw(what, "an exception of an unknown type");
  }
}

/// What was thrown is for the record alone: it may name anything of the inside.
Error FactoryTool::threw(const std::string& what, const std::string& cause) const {
  const std::lock_guard lock(mutex_);
  last_thrown_ = cause;
  return {ErrorKind::kInternal, "tool.threw", what + "; the record has the cause", "", 0};
}

ToolError FactoryTool::with_cause(const Error& error) const {
  ToolError told = tool_error_from(error);
  const std::lock_guard lock(mutex_);
  if (error.reason == "tool.threw" || error.reason == "tool.unhealthy") told.cause = last_thrown_;
  return told;
}

Result<Intent> FactoryTool::intent(const nlohmann::json& args, const PathOrigin& origin) const {
  GALLEY_ASSIGN(const ToolLifecycle::Stay stay, lifecycle_->enter());
  return instance_.tool->intent(args, origin);
}

ToolResult FactoryTool::run(const nlohmann::json& args, ToolContext& context) const {
  const auto stay = lifecycle_->enter();
  if (!stay) return ToolResult::failure(with_cause(stay.error()));
  return instance_.tool->run(args, context);
}

Result<void> FactoryTool::check_health() const {
  if (lifecycle_->phase() != ToolPhase::kReady) return {};
  const auto stay = lifecycle_->enter();
  if (!stay || !instance_.check_health) return {};
  const std::string what = "the health check of '" + factory_.info.name + "' failed";
  try {
    return instance_.check_health();
  } catch (const std::exception& error) {
    return threw(what, error.what());
  } catch (...) {
    return threw(what, "an exception of an unknown type");
  }
}

}  // namespace galley
