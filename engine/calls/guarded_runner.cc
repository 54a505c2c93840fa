#include "engine/calls/guarded_runner.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/calls/early_policy.h"
#include "engine/calls/programs.h"
#include "engine/policy/policy.h"
#include "engine/policy/readable_folders.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_files.h"
#include "staging/git/ignore_files.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/resolve_program.h"
#include "staging/sandbox/sandbox.h"

namespace galley {

namespace {

/// Returns the smaller of two limits; 0 means unlimited.
template <class Number>
Number tighter(Number asked, Number allowed) {
  if (allowed == Number{}) return asked;
  return asked == Number{} ? allowed : std::min(asked, allowed);
}

/// Tells whether git ignores a path. Git's files are read when a command first leaves a file.
class GitIgnore {
 public:
  GitIgnore(std::string workspace, bool is_checkout, const Clock& clock)
      : workspace_(std::move(workspace)), is_checkout_(is_checkout), clock_(&clock) {}

  Result<IgnoreAnswer> operator()(const RelPath& path, bool is_directory,
                                  const Deadline& deadline) {
    const std::lock_guard lock(mutex_);
    if (!files_) {
      GALLEY_ASSIGN(IgnoreFiles opened, is_checkout_ ? IgnoreFiles::open_checkout(workspace_)
                                                     : IgnoreFiles::open(workspace_));
      files_.emplace(std::move(opened));
    }
    const auto began = clock_->steady();
    using std::chrono::milliseconds;
    const Deadline mine = Deadline::after(*clock_, std::chrono::duration_cast<milliseconds>(left_));
    const bool is_mine = mine.left(*clock_) < deadline.left(*clock_);
    auto answer = files_->answer(path, is_directory, is_mine ? mine : deadline, *clock_);
    left_ -= clock_->steady() - began;
    if (answer || !is_mine || answer.error().kind != ErrorKind::kTimeout) return answer;
    return fail(ErrorKind::kTimeout, "ignore.stopped",
                "matching what changed with git's ignore rules took longer than " +
                    std::to_string(kMaxIgnoreTime.count()) +
                    " ms: make the .gitignore files smaller");
  }

  /// Drops the rules, since their files may have changed.
  void forget() {
    const std::lock_guard lock(mutex_);
    files_.reset();
    left_ = kMaxIgnoreTime;
  }

 private:
  std::mutex mutex_;
  std::string workspace_;
  bool is_checkout_;
  const Clock* clock_;
  std::optional<IgnoreFiles> files_;
  std::chrono::nanoseconds left_ = kMaxIgnoreTime;
};

/// Returns the existing folders of `sandbox.readable`.
/// Errors: kInvalid `config.value` for a folder that has secrets, also behind a link.
Result<std::vector<std::string>> readable_folders(const std::vector<std::string>& texts) {
  const std::string home = home_folder();
  std::vector<std::string> folders;
  for (const std::string& text : texts) {
    const std::string folder = expanded_folder(text, home);
    if (folder.empty()) continue;  // `~/` without a home directory
    for (const std::string& one : {folder, real_program_path(folder)}) {
      const std::string no = objection_to_readable(one, home);
      if (no.empty()) continue;
      const std::string which = one == folder ? "" : " (which leads to " + one + ")";
      return fail(ErrorKind::kInvalid, "config.value",
                  "sandbox.readable of galley.toml cannot hold '" + text + "'" + which + ": " + no);
    }
    folders.push_back(folder);
  }
  return existing_folders(folders);
}

class GuardedRunner final : public CommandRunner {
 public:
  GuardedRunner(const Config& config, GuardedRunnerOptions options, const Clock& clock)
      : config_(&config),
        options_(std::move(options)),
        clock_(&clock),
        programs_(config, options_.who, options_.workspace),
        ignore_(std::make_shared<GitIgnore>(options_.workspace, options_.is_checkout, clock)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_ASSIGN(const Command bounded_command, checked(command, false));
    GALLEY_ASSIGN(CommandRunner * sandbox, need_sandbox());
    ignore_->forget();
    RefuseEffects refuse;
    if (options_.before_command && command.effects != EffectsRule::kDrop) {
      refuse = options_.before_command();
    }
    const Overlay::Entries before = overlay.entries();
    GALLEY_ASSIGN(CommandResult result, sandbox->run(bounded_command, overlay));
    if (refuse) refuse(before, overlay.entries(), result.refused);
    if (!options_.who.is_alone()) refuse_denied(before, overlay, result);
    if (result.refused.empty()) return result;
    roll_back(overlay, before);
    result.effects_staged = false;
    result.staged_paths = 0;
    return result;
  }

  /// A person decides how long it runs, so its wall time is not limited. The folders of its program
  /// are on its PATH, as those of `sandbox.readable` are.
  Result<std::unique_ptr<LiveRun>> start(const Command& command, const LiveOptions& options,
                                         const Overlay& overlay) override {
    GALLEY_TRY(need_readable());
    SandboxOptions sandbox = sandbox_options();
    GALLEY_ASSIGN(const auto more, readable_folders(command.readable));
    sandbox.readable.insert(sandbox.readable.end(), more.begin(), more.end());
    Command own = command;
    own.readable.clear();
    if (!more.empty()) {
      own.environment.try_emplace("PATH", program_search_path(sandbox.readable));
    }
    GALLEY_ASSIGN(Command bounded_command, checked(own, options.has_consent));
    bounded_command.limits.wall = std::chrono::milliseconds(0);
    return start_live_run(std::move(sandbox), bounded_command, options, overlay);
  }

 private:
  /// Returns the command with the limits of the policy.
  Result<Command> checked(const Command& command, bool has_consent) {
    GALLEY_TRY(need_readable());
    const std::string search_path = search_path_of(command);
    GALLEY_TRY(programs_.check(command, search_path));
    GALLEY_TRY(check_network(command, has_consent));
    Command bounded_command = command;
    if (command.is_shell) {
      bounded_command.argv[0] = "bash";
      if (!programs_.check(bounded_command, search_path)) bounded_command.argv = command.argv;
    }
    if (options_.is_offline) {
      bounded_command.network = NetworkAccess::kNone;
      bounded_command.hosts.clear();
    }
    bounded_command.walls = programs_.walls(command, search_path);
    bounded_command.limits = bounded(command.limits, config_->sandbox);
    bounded_command.is_deterministic |= config_->sandbox.is_deterministic;
    bounded_command.propose_ignored |= config_->sandbox.propose_ignored;
    return bounded_command;
  }

  Result<void> need_readable() {
    const std::lock_guard lock(mutex_);
    if (readable_) return {};
    GALLEY_ASSIGN(readable_, readable_folders(config_->sandbox.readable));
    return {};
  }

  [[nodiscard]] std::string search_path_of(const Command& command) const {
    const auto path = command.environment.find("PATH");
    return path == command.environment.end() ? program_search_path(*readable_) : path->second;
  }

  Result<void> check_network(const Command& command, bool has_consent) const {
    if (command.network != NetworkAccess::kHost && command.hosts.empty()) return {};
    GALLEY_TRY(parse_allowed_hosts(command.hosts));
    if (!config_->sandbox.allows_network && !has_consent) {
      return fail(ErrorKind::kRefused, "command.network_denied",
                  "the network is denied: set sandbox.network = true in galley.toml, or run the "
                  "command without it");
    }
    const Judgement network = Policy(*config_).judge_network(options_.who);
    if (network.decision != Decision::kAllow) {
      return fail(ErrorKind::kRefused, "command.network_denied", network.message);
    }
    return {};
  }

  void refuse_denied(const Overlay::Entries& before, const Overlay& overlay,
                     CommandResult& result) const {
    if (!result.effects_staged) return;
    for (const Judgement& no : denied_changes(*config_, options_.who, before, overlay.entries())) {
      result.refused.push_back({no.path, "may not be changed: " + no.message});
    }
  }

  Result<CommandRunner*> need_sandbox() {
    const std::lock_guard lock(mutex_);
    if (sandbox_ != nullptr) return sandbox_.get();
    if (options_.before_first) GALLEY_TRY(options_.before_first());
    SandboxOptions options = sandbox_options();
    options.layer_home = options_.layer_home;
    options.keep_home = options_.keep_home;
    if (options_.scratch_home) {
      GALLEY_ASSIGN(options.scratch_home, options_.scratch_home());
    }
    GALLEY_ASSIGN(sandbox_, make_sandbox(std::move(options), *clock_));
    return sandbox_.get();
  }

  /// The options, except the location of the layers.
  [[nodiscard]] SandboxOptions sandbox_options() const {
    SandboxOptions options;
    options.workspace = options_.workspace;
    options.allow_copy = config_->sandbox.fallback == SandboxFallback::kCopy;
    options.pass_environment = config_->sandbox.environment;
    options.readable = *readable_;
    if (!options_.is_checkout) {
      options.git_common = GitFiles(options_.workspace, effective_user()).repository_elsewhere();
    }
    options.is_ignored = [ignore = ignore_](const RelPath& path, bool is_directory,
                                            const Deadline& deadline) {
      return (*ignore)(path, is_directory, deadline);
    };
    return options;
  }

  const Config* config_;
  GuardedRunnerOptions options_;
  const Clock* clock_;
  Programs programs_;
  std::shared_ptr<GitIgnore> ignore_;
  std::mutex mutex_;
  std::optional<std::vector<std::string>> readable_;  ///< set before the first command runs
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

IgnoreRule git_ignore_rule(const std::string& workspace, const Clock& clock) {
  return [ignore = std::make_shared<GitIgnore>(workspace, false, clock)](
             const RelPath& path, bool is_directory, const Deadline& deadline) {
    return (*ignore)(path, is_directory, deadline);
  };
}

std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                   GuardedRunnerOptions options,
                                                   const Clock& clock) {
  return std::make_unique<GuardedRunner>(config, std::move(options), clock);
}

}  // namespace galley
