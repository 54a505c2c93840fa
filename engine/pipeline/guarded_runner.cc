#include "engine/pipeline/guarded_runner.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "engine/pipeline/program_rules.h"
#include "engine/policy/policy.h"
#include "staging/git/git_repository.h"
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

/// Whether git ignores a path; git is asked for the first time when a command left something.
class GitIgnore {
 public:
  explicit GitIgnore(std::string workspace) : workspace_(std::move(workspace)) {}

  /// libgit2 looks on the disk for what is a directory; one that a command made is not there, so a
  /// name below it is asked about instead: it is ignored exactly when all of the directory is.
  Result<bool> operator()(const RelPath& path, bool is_directory) {
    const std::lock_guard lock(mutex_);
    if (!is_looked_for_) {
      GALLEY_ASSIGN(repository_, GitRepository::discover(workspace_));
      is_looked_for_ = true;
    }
    if (!repository_) return false;
    GALLEY_ASSIGN(const RelPath below, RelPath::parse(".galley-below"));
    GALLEY_ASSIGN(const RelPath asked, is_directory ? path.join(below) : Result<RelPath>(path));
    GALLEY_ASSIGN(const auto ignored, repository_->are_ignored({asked}));
    return ignored.front();
  }

 private:
  std::mutex mutex_;
  std::string workspace_;
  bool is_looked_for_ = false;
  std::optional<GitRepository> repository_;
};

std::string search_path_of(const Command& command) {
  const auto path = command.environment.find("PATH");
  return path == command.environment.end() ? std::string(kProgramPath) : path->second;
}

class GuardedRunner final : public CommandRunner {
 public:
  GuardedRunner(const Config& config, GuardedRunnerOptions options, const Clock& clock)
      : config_(&config), options_(std::move(options)), clock_(&clock) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_TRY(check(command));
    GALLEY_ASSIGN(CommandRunner * sandbox, need_sandbox());
    Command bounded_command = command;
    bounded_command.programs = rules_for(command);
    bounded_command.limits = bounded(command.limits, config_->sandbox);
    bounded_command.is_deterministic |= config_->sandbox.is_deterministic;
    bounded_command.propose_ignored |= config_->sandbox.propose_ignored;
    return sandbox->run(bounded_command, overlay);
  }

 private:
  Result<void> check(const Command& command) const {
    if (command.argv.empty()) {
      return fail(ErrorKind::kInvalid, "sandbox.bad_command", "no program was named");
    }
    GALLEY_ASSIGN(const ResolvedProgram program,
                  resolve_program(command.argv[0], search_path_of(command), options_.workspace,
                                  command.working_directory));
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
      return command_matches(rule, program, command.argv) ||
             command_matches(placed_rule(rule, options_.workspace), program, command.argv);
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

  /// Names of programs are looked up once: that is a look into every directory of PATH.
  ProgramRules rules_for(const Command& command) {
    const std::string path = search_path_of(command);
    const std::lock_guard lock(mutex_);
    const auto known = rules_.find(path);
    if (known != rules_.end()) return known->second;
    const ProgramScope scope{options_.agent, options_.workspace, path};
    return rules_.emplace(path, program_rules(*config_, scope)).first->second;
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
    options.is_ignored = [ignore = std::make_shared<GitIgnore>(options_.workspace)](
                             const RelPath& path, bool is_directory) {
      return (*ignore)(path, is_directory);
    };
    GALLEY_ASSIGN(sandbox_, make_sandbox(std::move(options), *clock_));
    return sandbox_.get();
  }

  const Config* config_;
  GuardedRunnerOptions options_;
  const Clock* clock_;
  std::mutex mutex_;
  std::map<std::string, ProgramRules> rules_;  ///< by search path
  std::unique_ptr<CommandRunner> sandbox_;
};

}  // namespace

AskedLimits bounded(AskedLimits limits, const SandboxConfig& config) {
  const auto bound = [](auto& limit, const auto& most) {
    limit = limit ? tighter(*limit, most) : most;
  };
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  bound(limits.wall, milliseconds(config.timeout_ms));
  bound(limits.grace, milliseconds(config.grace_ms));
  bound(limits.cpu, seconds(config.max_cpu_seconds));
  bound(limits.max_memory_bytes, config.max_memory_bytes);
  bound(limits.max_processes, config.max_processes);
  bound(limits.max_file_bytes, config.max_file_bytes);
  bound(limits.max_written_bytes, config.max_written_bytes);
  bound(limits.max_open_files, config.max_open_files);
  bound(limits.max_stdout_bytes, config.max_output_bytes);
  bound(limits.max_stderr_bytes, config.max_output_bytes);
  return limits;
}

std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                   GuardedRunnerOptions options,
                                                   const Clock& clock) {
  return std::make_unique<GuardedRunner>(config, std::move(options), clock);
}

}  // namespace galley
