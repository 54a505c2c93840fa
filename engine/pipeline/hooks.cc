#include "engine/pipeline/hooks.h"

#include "engine/pipeline/workspace_state.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/host_process.h"

namespace galley {
namespace {

using HookCommand = std::vector<std::string>;

Result<int> run_on_host(const HookCommand& command, const std::string& root) {
  GALLEY_TRY(check_outside(command, root));
  HostProcessOptions options;
  options.directory = "/";
  options.environment = {"GALLEY_WORKSPACE=" + root};
  GALLEY_ASSIGN(const auto process, HostProcess::start(command, options));
  return process->wait();
}

Result<int> run_in_sandbox(const HookCommand& hook, WorkspaceState& workspace) {
  Overlay unchanged(workspace.place.files(), make_memory_store(), workspace.place.clock());
  Command command;
  command.argv = hook;
  command.effects = EffectsRule::kDrop;
  GALLEY_ASSIGN(const CommandResult result,
                workspace.tools.runner_for("")->run(command, unchanged));
  if (result.breach) return fail(result.breach->error());
  return result.exit_code.value_or(kSignalStatusBase + result.exit_signal.value_or(0));
}

void tell(const HookCommand& command, const Result<int>& status,
          std::vector<std::string>& failures) {
  if (!status) {
    failures.push_back("the hook " + command.front() + ": " + status.error().message);
  } else if (*status != 0) {
    failures.push_back("the hook " + command.front() + " ended with " + std::to_string(*status));
  }
}

}  // namespace

ApplyHooks apply_hooks(WorkspaceState& workspace, std::vector<std::string>& failures) {
  const auto hook = [&](const HookCommand& own, const HookCommand& of_workspace) {
    if (own.empty() && of_workspace.empty()) return std::function<void()>();
    return std::function<void()>([&workspace, &failures, own, of_workspace] {
      if (!own.empty()) tell(own, run_on_host(own, workspace.place.path), failures);
      if (of_workspace.empty()) return;
      tell(of_workspace, run_in_sandbox(of_workspace, workspace), failures);
    });
  };
  const UserConfig& user = workspace.rules.user.config;
  const CommitConfig& commit = workspace.rules.config.commit;
  return {hook(user.before_apply, commit.before_apply), hook(user.after_apply, commit.after_apply)};
}

}  // namespace galley
