#include "engine/pipeline/toolbox.h"

#include <mutex>
#include <utility>

#include "base/file_mode.h"
#include "base/text.h"
#include "engine/agent_tools/git_commit.h"
#include "engine/agent_tools/graph_query.h"
#include "engine/calls/guarded_runner.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/disk_validator_cache.h"
#include "engine/pipeline/mcp_servers.h"
#include "engine/pipeline/security_tools.h"
#include "engine/pipeline/stored_tools.h"
#include "tools/standard_tools.h"

namespace galley {
namespace {

/// Returns the lookup of `[tools.NAME] config` for tools of profiles.
ToolSetting setting_of(std::map<std::string, ToolConfig> tools) {
  return [tools = std::move(tools)](std::string_view tool, std::string_view key) {
    const auto table = tools.find(std::string(tool));
    if (table == tools.end()) return std::string();
    const auto value = table->second.config.find(std::string(key));
    return value == table->second.config.end() ? std::string() : value->second;
  };
}

}  // namespace

Toolbox::Toolbox(const Place& place, const Rules& rules, PersistentState& kept,
                 WorkspaceOptions& options)
    : place_(&place),
      rules_(&rules),
      kept_(&kept),
      mode_(options.reads_only ? ToolRegistry::Mode::kReadOnly : ToolRegistry::Mode::kAll),
      given_runner_(options.runner),
      given_tools_(std::move(options.tools)),
      dependencies_(std::move(options.dependencies)) {}

ValidatorCache* Toolbox::cache() {
  const std::lock_guard guard(mutex_);
  if (cache_ != nullptr || rules_->config.validators.empty()) return cache_.get();
  if (kept_->state() != nullptr) {
    const RelPath place = kept_->state()->own("cache");
    auto made = make_directories(kept_->state()->root(), place, kPrivateDirectory);
    auto opened = made ? kept_->state()->root().open_writable_directory(place)
                       : Result<std::unique_ptr<WritableDirectory>>(made.error());
    // Without a folder on disk validators only run more often.
    if (opened) cache_ = std::make_unique<DiskValidatorCache>(*std::move(opened));
  }
  if (cache_ == nullptr) cache_ = std::make_unique<MemoryValidatorCache>();
  return cache_.get();
}

CommandRunner* Toolbox::runner_for(const Principals& who) {
  if (given_runner_ != nullptr) return given_runner_;
  const std::lock_guard guard(mutex_);
  std::unique_ptr<CommandRunner>& runner = runners_[{who, kept_->state() != nullptr}];
  if (runner != nullptr) return runner.get();
  if (place_->tree != nullptr) {
    runner = place_->tree->make_runner(rules_->config, who, place_->clock());
    return runner.get();
  }
  GuardedRunnerOptions runner_options;
  runner_options.workspace = place_->path;
  runner_options.who = who;
  // Without a folder on disk validators lose their caches when the process ends.
  if (kept_->state() != nullptr) {
    const auto made =
        make_directories(kept_->state()->root(), kept_->state()->own("keep"), kPrivateDirectory);
    if (made) runner_options.keep_home = kept_->own_path("keep");
  }
  runner = make_guarded_runner(rules_->config, std::move(runner_options), place_->clock());
  return runner.get();
}

Result<ToolRegistry*> Toolbox::registry() {
  const std::lock_guard guard(mutex_);
  if (registry_ == nullptr) {
    auto made = std::make_unique<ToolRegistry>();
    GALLEY_TRY(add_standard_tools(*made));
    GALLEY_TRY(add_dialect_tools(*made, setting_of(rules_->config.tools)));
    GALLEY_TRY(made->add(make_graph_query({place_->path, [this] { return kept_->state(); }})));
    // Each commit of a branch is one of git already.
    if (place_->branch() == nullptr) GALLEY_TRY(made->add(make_git_commit(place_->path)));
    made->set_dependencies(dependencies_);
    GALLEY_TRY(add_security_tools(*made, *rules_, *kept_));
    GALLEY_TRY(add_custom_tools(*made, rules_->user, place_->path));
    GALLEY_TRY(add_mcp_servers(*made, rules_->user, place_->path));
    for (ToolDefinition& own : given_tools_) {
      GALLEY_TRY(add_own_tool(*rules_, *made, std::move(own)));
    }
    given_tools_.clear();
    for (const auto& [name, tool] : rules_->config.tools) made->set_enabled(name, tool.is_enabled);
    registry_ = std::move(made);
  }
  return registry_.get();
}

Result<void> Toolbox::check_given() {
  if (!given_tools_.empty()) GALLEY_TRY(registry());
  return {};
}

CallSupervisor& Toolbox::supervisor() {
  const std::lock_guard guard(mutex_);
  if (supervisor_ == nullptr)
    supervisor_ = std::make_unique<CallSupervisor>(place_->clock(), rules_->config.tools);
  return *supervisor_;
}

/// Such a table may be meant for a tool that is added later, or be a typing error.
Result<std::vector<std::string>> Toolbox::unknown_tools() {
  std::vector<std::string> unknown;
  if (rules_->config.tools.empty()) return unknown;
  GALLEY_ASSIGN(const ToolRegistry* tools, registry());
  std::vector<std::string> names;
  for (const ToolRegistry::Status& status : tools->statuses()) names.push_back(status.info.name);
  for (const auto& [name, tool] : rules_->config.tools) {
    if (tools->has(name)) continue;
    unknown.push_back(rules_->config.file + ":" + std::to_string(tool.line) + ": [tools." + name +
                      "] names a tool that does not exist now" + did_you_mean(name, names));
  }
  return unknown;
}

}  // namespace galley
