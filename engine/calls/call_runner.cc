#include "engine/calls/call_runner.h"

#include <algorithm>
#include <utility>

namespace galley {

namespace {

/// Keeps only the programs that the call allows as well.
void narrow_programs(const std::vector<std::string>& only,
                     std::optional<std::vector<std::string>>& programs) {
  if (!programs) programs = only;
  std::erase_if(*programs, [&only](const std::string& program) {
    return std::find(only.begin(), only.end(), program) == only.end();
  });
}

}  // namespace

Command bounded_by_call(Command command, const CallOptions& options, const RelPath& cwd) {
  if (command.working_directory.is_root()) command.working_directory = cwd;
  // A variable that the command sets itself wins: secrets are set by name.
  command.environment.insert(options.environment.begin(), options.environment.end());
  if (options.only_programs) narrow_programs(*options.only_programs, command.only_programs);
  if (options.timeout) {
    command.limits.wall =
        std::min(command.limits.wall.value_or(*options.timeout), *options.timeout);
  }
  if (options.dry_run) {
    command.effects = EffectsRule::kDrop;
    command.network = NetworkAccess::kNone;
  }
  command.is_deterministic |= options.deterministic;
  // A command with its own token cleans up after a cancelled call.
  if (!command.stop.stop_possible()) command.stop = options.stop;
  return command;
}

CallRunner::CallRunner(CommandRunner& runner, const CallOptions& options, RelPath cwd,
                       uint64_t max_memory_bytes, const Deadline& deadline, const Clock& clock)
    : runner_(&runner),
      options_(&options),
      cwd_(std::move(cwd)),
      max_memory_bytes_(max_memory_bytes),
      deadline_(deadline),
      clock_(&clock) {}

Result<CommandResult> CallRunner::run(const Command& command, Overlay& overlay) {
  // A tool's dry run shows the effects of its command; they are reverted with all changes of the
  // call.
  const EffectsRule effects = command.effects;
  Command bounded = bounded_by_call(command, *options_, cwd_);
  bounded.effects = effects;
  bounded.limits.max_memory_bytes =
      std::min(bounded.limits.max_memory_bytes.value_or(max_memory_bytes_), max_memory_bytes_);
  if (!deadline_.is_never()) {
    const auto left = deadline_.left(*clock_);
    bounded.limits.wall = std::min(bounded.limits.wall.value_or(left), left);
  }
  auto result = runner_->run(bounded, overlay);
  if (!result) return result;
  const std::lock_guard lock(mutex_);
  usage_.has_run = true;
  usage_.cpu += result->cpu;
  usage_.peak_memory_bytes = std::max(usage_.peak_memory_bytes, result->peak_memory_bytes);
  return result;
}

CallRunner::Usage CallRunner::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace galley
