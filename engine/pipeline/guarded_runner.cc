#include "engine/pipeline/guarded_runner.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/policy/policy.h"
#include "staging/git/ignore_files.h"
#include "staging/sandbox/resolve_program.h"
#include "staging/sandbox/sandbox.h"

namespace galley {
namespace {

tl::unexpected<Error> refuse(std::string reason, const std::string& message) {
  return fail(ErrorKind::kRefused, std::move(reason), message);
}

/// The smaller of two limits where 0 means none.
template <class Number>
Number tighter(Number asked, Number allowed) {
  if (allowed == Number{}) return asked;
  return asked == Number{} ? allowed : std::min(asked, allowed);
}

/// Whether git ignores a path; its files are read when a command first left something.
class GitIgnore {
 public:
  GitIgnore(std::string workspace, const Clock& clock)
      : workspace_(std::move(workspace)), clock_(&clock) {}

  Result<bool> operator()(const RelPath& path, bool is_directory, const Deadline& deadline) {
    const std::lock_guard lock(mutex_);
    if (!files_) {
      GALLEY_ASSIGN(IgnoreFiles opened, IgnoreFiles::open(workspace_));
      files_.emplace(std::move(opened));
    }
    return files_->is_ignored(path, is_directory, deadline, *clock_);
  }

  /// The files may have changed since.
  void forget() {
    const std::lock_guard lock(mutex_);
    files_.reset();
  }

 private:
  std::mutex mutex_;
  std::string workspace_;
  const Clock* clock_;
  std::optional<IgnoreFiles> files_;
};

class GuardedRunner final : public CommandRunner {
 public:
  GuardedRunner(const Config& config, GuardedRunnerOptions options, const Clock& clock)
      : config_(&config),
        options_(std::move(options)),
        clock_(&clock),
        ignore_(std::make_shared<GitIgnore>(options_.workspace, clock)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_TRY(check(command));
    GALLEY_ASSIGN(CommandRunner * sandbox, need_sandbox());
    Command bounded_command = command;
    bounded_command.limits = bounded(command.limits, config_->sandbox);
    bounded_command.is_deterministic |= config_->sandbox.is_deterministic;
    bounded_command.propose_ignored |= config_->sandbox.propose_ignored;
    ignore_->forget();
    return sandbox->run(bounded_command, overlay);
  }

 private:
  Result<void> check(const Command& command) const {
    if (command.argv.empty()) {
      return fail(ErrorKind::kInvalid, "sandbox.bad_command", "no program was named");
    }
    const auto path = command.environment.find("PATH");
    GALLEY_ASSIGN(
        const ResolvedProgram program,
        resolve_program(
            command.argv[0],
            path == command.environment.end() ? kProgramPath : std::string_view(path->second),
            options_.workspace, command.working_directory));
    GALLEY_TRY(check_lists(command, program));
    const Policy policy(*config_);
    const Judgement exec = policy.judge_exec(program.real, options_.agent);
    if (exec.decision != Decision::kAllow) return refuse("command.no_capability", exec.message);
    if (command.network != NetworkAccess::kHost) return {};
    if (!config_->sandbox.allows_network) {
      return refuse("command.network_denied",
                    "the network is denied: set sandbox.network = true in galley.toml, or run the "
                    "command without it");
    }
    const Judgement network = policy.judge_network(options_.agent);
    if (network.decision != Decision::kAllow) {
      return refuse("command.network_denied", network.message);
    }
    return {};
  }

  Result<void> check_lists(const Command& command, const ResolvedProgram& program) const {
    const auto matches = [&](const std::string& rule) {
      return command_matches(rule, program, command.argv);
    };
    const auto& deny = config_->sandbox.deny;
    const auto denied = std::find_if(deny.begin(), deny.end(), matches);
    if (denied != deny.end()) {
      return refuse("command.denied", "'" + command.argv[0] + "' is denied by '" + *denied +
                                          "' in sandbox.deny of galley.toml");
    }
    const auto& allow = config_->sandbox.allow;
    if (allow.empty() || std::any_of(allow.begin(), allow.end(), matches)) return {};
    return refuse("command.not_allowed", "'" + command.argv[0] + "' (" + program.real +
                                             ") is not in sandbox.allow of galley.toml; use a "
                                             "program that is, or add it");
  }

  Result<CommandRunner*> need_sandbox() {
    const std::lock_guard lock(mutex_);
    if (sandbox_ != nullptr) return sandbox_.get();
    SandboxOptions options;
    options.workspace = options_.workspace;
    options.layer_home = options_.layer_home;
    options.keep_home = options_.keep_home;
    if (options_.scratch_home) {
      GALLEY_ASSIGN(options.scratch_home, options_.scratch_home());
    }
    options.allow_copy = config_->sandbox.fallback == SandboxFallback::kCopy;
    options.pass_environment = config_->sandbox.environment;
    options.is_ignored = [ignore = ignore_](const RelPath& path, bool is_directory,
                                            const Deadline& deadline) {
      return (*ignore)(path, is_directory, deadline);
    };
    GALLEY_ASSIGN(sandbox_, make_sandbox(std::move(options), *clock_));
    return sandbox_.get();
  }

  const Config* config_;
  GuardedRunnerOptions options_;
  const Clock* clock_;
  std::shared_ptr<GitIgnore> ignore_;
  std::mutex mutex_;
  std::unique_ptr<CommandRunner> sandbox_;
};

}  // namespace

CommandLimits bounded(CommandLimits limits, const SandboxConfig& config) {
  const CommandLimits standard;
  const auto bound = [](auto& limit, const auto& usual, const auto& most) {
    limit = limit == usual ? most : tighter(limit, most);
  };
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  bound(limits.wall, standard.wall, milliseconds(config.timeout_ms));
  bound(limits.grace, standard.grace, milliseconds(config.grace_ms));
  bound(limits.cpu, standard.cpu, seconds(config.max_cpu_seconds));
  bound(limits.max_memory_bytes, standard.max_memory_bytes, config.max_memory_bytes);
  bound(limits.max_processes, standard.max_processes, config.max_processes);
  bound(limits.max_file_bytes, standard.max_file_bytes, config.max_file_bytes);
  bound(limits.max_written_bytes, standard.max_written_bytes, config.max_written_bytes);
  bound(limits.max_open_files, standard.max_open_files, config.max_open_files);
  bound(limits.max_stdout_bytes, standard.max_stdout_bytes, config.max_output_bytes);
  bound(limits.max_stderr_bytes, standard.max_stderr_bytes, config.max_output_bytes);
  return limits;
}

std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                   GuardedRunnerOptions options,
                                                   const Clock& clock) {
  return std::make_unique<GuardedRunner>(config, std::move(options), clock);
}

}  // namespace galley
