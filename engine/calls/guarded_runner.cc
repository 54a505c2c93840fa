#include "engine/calls/guarded_runner.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/calls/early_policy.h"
#include "engine/policy/policy.h"
#include "engine/policy/readable_folders.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_files.h"
#include "staging/git/ignore_files.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/live_run.h"
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

  Result<IgnoreAnswer> operator()(const RelPath& path, bool is_directory,
                                  const Deadline& deadline) {
    const std::lock_guard lock(mutex_);
    if (!files_) {
      GALLEY_ASSIGN(IgnoreFiles opened, IgnoreFiles::open(workspace_));
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

  /// The files may have changed since.
  void forget() {
    const std::lock_guard lock(mutex_);
    files_.reset();
    left_ = kMaxIgnoreTime;
  }

 private:
  std::mutex mutex_;
  std::string workspace_;
  const Clock* clock_;
  std::optional<IgnoreFiles> files_;
  std::chrono::nanoseconds left_ = kMaxIgnoreTime;
};

/// The folders of `sandbox.readable` that are there.
/// Errors: kInvalid `config.value` for one that holds secrets, also where a link leads to it.
Result<std::vector<std::string>> readable_folders(const SandboxConfig& config) {
  const std::string home = home_folder();
  std::vector<std::string> folders;
  for (const std::string& text : config.readable) {
    const std::string folder = placed_folder(text, home);
    if (folder.empty()) continue;  // `~/` without a home
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
        ignore_(std::make_shared<GitIgnore>(options_.workspace, clock)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_ASSIGN(const Command bounded_command, checked(command));
    GALLEY_ASSIGN(CommandRunner * sandbox, need_sandbox());
    ignore_->forget();
    if (options_.who.is_alone()) return sandbox->run(bounded_command, overlay);
    const Overlay::Entries before = overlay.entries();
    GALLEY_ASSIGN(CommandResult result, sandbox->run(bounded_command, overlay));
    refuse_denied(before, overlay, result);
    return result;
  }

  /// It goes on as long as its person wants: no wall time bounds it.
  Result<std::unique_ptr<LiveRun>> start(const Command& command, const LiveOptions& options,
                                         const Overlay& overlay) override {
    GALLEY_ASSIGN(Command bounded_command, checked(command));
    bounded_command.limits.wall = std::chrono::milliseconds(0);
    return start_live_run(sandbox_options(), bounded_command, options, overlay);
  }

 private:
  /// The command within what the policy lets it do.
  Result<Command> checked(const Command& command) {
    GALLEY_TRY(need_readable());
    GALLEY_TRY(check(command));
    Command bounded_command = command;
    if (options_.is_offline) bounded_command.network = NetworkAccess::kNone;
    bounded_command.programs = rules_for(command);
    if (command.programs.is_restricted) {
      bounded_command.programs = narrowed_to(
          command.programs.allowed, std::move(bounded_command.programs), scope_of(command));
    }
    bounded_command.limits = bounded(command.limits, config_->sandbox);
    bounded_command.is_deterministic |= config_->sandbox.is_deterministic;
    bounded_command.propose_ignored |= config_->sandbox.propose_ignored;
    return bounded_command;
  }

  Result<void> need_readable() {
    const std::lock_guard lock(mutex_);
    if (readable_) return {};
    GALLEY_ASSIGN(readable_, readable_folders(config_->sandbox));
    return {};
  }

  [[nodiscard]] std::string search_path_of(const Command& command) const {
    const auto path = command.environment.find("PATH");
    return path == command.environment.end() ? program_search_path(*readable_) : path->second;
  }

  [[nodiscard]] ProgramScope scope_of(const Command& command) const {
    return {options_.who, options_.workspace, search_path_of(command)};
  }

  /// `exec:python3` grants python3.11 too where that is what it is a link to.
  bool is_granted_by_another_name(const Command& command, const ResolvedProgram& program) {
    const ProgramRules rules = rules_for(command);
    return !program.is_in_workspace && rules.is_restricted &&
           std::binary_search(rules.allowed.begin(), rules.allowed.end(), program.real);
  }

  Result<void> check(const Command& command) {
    if (command.argv.empty()) {
      return fail(ErrorKind::kInvalid, "sandbox.bad_command", "no program was named");
    }
    GALLEY_ASSIGN(const ResolvedProgram program,
                  resolve_program(command.argv[0], search_path_of(command), options_.workspace,
                                  command.working_directory));
    GALLEY_TRY(check_lists(command, program));
    if (command.programs.is_restricted &&
        !is_among(command.programs.allowed, command.argv[0], program, scope_of(command))) {
      return refuse("command.not_allowed",
                    "'" + command.argv[0] + "' is not among the programs that this call may start");
    }
    const Policy policy(*config_);
    // One name of a program that is many in one says nothing about what the file can do.
    const std::string& called = is_multi_call(program.real) ? program.real : program.path;
    Judgement exec = policy.judge_exec(called, program.real, options_.who);
    if (exec.decision != Decision::kAllow && is_granted_by_another_name(command, program))
      exec = {};
    if (exec.decision != Decision::kAllow) return refuse("command.no_capability", exec.message);
    if (command.network != NetworkAccess::kHost) return {};
    if (!config_->sandbox.allows_network) {
      return refuse("command.network_denied",
                    "the network is denied: set sandbox.network = true in galley.toml, or run the "
                    "command without it");
    }
    const Judgement network = policy.judge_network(options_.who);
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

  void refuse_denied(const Overlay::Entries& before, Overlay& overlay,
                     CommandResult& result) const {
    if (!result.effects_staged) return;
    for (const Judgement& no : denied_changes(*config_, options_.who, before, overlay.entries())) {
      result.refused.push_back({no.path, "may not be changed: " + no.message});
    }
    if (result.refused.empty()) return;
    overlay.restore(before);
    result.effects_staged = false;
    result.staged_paths = 0;
  }

  /// Names of programs are looked up once: that is a look into every directory of PATH.
  ProgramRules rules_for(const Command& command) {
    const std::string path = search_path_of(command);
    const std::lock_guard lock(mutex_);
    // What was granted or revoked since counts at once.
    const uint64_t version = config_->grants != nullptr ? config_->grants->version() : 0;
    if (std::exchange(rules_version_, version) != version) rules_.clear();
    const auto known = rules_.find(path);
    if (known != rules_.end()) return known->second;
    return rules_.emplace(path, program_rules(*config_, scope_of(command))).first->second;
  }

  Result<CommandRunner*> need_sandbox() {
    const std::lock_guard lock(mutex_);
    if (sandbox_ != nullptr) return sandbox_.get();
    SandboxOptions options = sandbox_options();
    options.layer_home = options_.layer_home;
    options.keep_home = options_.keep_home;
    if (options_.scratch_home) {
      GALLEY_ASSIGN(options.scratch_home, options_.scratch_home());
    }
    GALLEY_ASSIGN(sandbox_, make_sandbox(std::move(options), *clock_));
    return sandbox_.get();
  }

  /// But for where the layers lie.
  [[nodiscard]] SandboxOptions sandbox_options() const {
    SandboxOptions options;
    options.workspace = options_.workspace;
    options.allow_copy = config_->sandbox.fallback == SandboxFallback::kCopy;
    options.pass_environment = config_->sandbox.environment;
    options.readable = *readable_;
    options.git_common = GitFiles(options_.workspace, effective_user()).shared_by_work_trees();
    options.is_ignored = [ignore = ignore_](const RelPath& path, bool is_directory,
                                            const Deadline& deadline) {
      return (*ignore)(path, is_directory, deadline);
    };
    return options;
  }

  const Config* config_;
  GuardedRunnerOptions options_;
  const Clock* clock_;
  std::shared_ptr<GitIgnore> ignore_;
  std::mutex mutex_;
  std::optional<std::vector<std::string>> readable_;  ///< set before anything is run
  std::map<std::string, ProgramRules> rules_;         ///< by search path
  uint64_t rules_version_ = 0;                        ///< of the grants that rules_ is made of
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
  return [ignore = std::make_shared<GitIgnore>(workspace, clock)](
             const RelPath& path, bool is_directory, const Deadline& deadline) {
    return (*ignore)(path, is_directory, deadline);
  };
}

std::unique_ptr<CommandRunner> make_guarded_runner(const Config& config,
                                                   GuardedRunnerOptions options,
                                                   const Clock& clock) {
  return std::make_unique<GuardedRunner>(config, std::move(options), clock);
}

namespace {

/// Stands for the programs that no rule names.
constexpr std::string_view kAnyProgram = "/usr/lib/any-program";

bool has_arguments(const std::string& rule) { return rule.find(' ') != rule.npos; }
std::string program_of(const std::string& rule) { return rule.substr(0, rule.find(' ')); }

bool is_in_directory(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

/// The files, or the directory, that the program of a rule stands for.
std::vector<std::string> files_of_rule(const std::string& rule, const ProgramScope& scope) {
  const std::string program = placed_rule(program_of(rule), scope.workspace);
  std::vector<std::string> files;
  if (program.find('/') == program.npos) {
    for (const ResolvedProgram& found : list_programs(scope.search_path, program)) {
      files.push_back(found.real);
    }
    return files;
  }
  const bool is_directory = program.ends_with('/');
  const bool is_ours = is_in_directory(program, scope.workspace);
  // What a link of the workspace leads to is the command's to choose.
  files.push_back(is_ours ? program : real_program_path(program) + (is_directory ? "/" : ""));
  return files;
}

class RuleResolver {
 public:
  RuleResolver(const Config& config, const ProgramScope& scope)
      : config_(config), scope_(scope), policy_(config) {}

  ProgramRules run() {
    resolve_allowed();
    resolve_capabilities();
    for (const std::string& rule : config_.sandbox.deny) deny(rule);
    for (const std::string& path : denied_) allowed_.erase(path);
    rules_.allowed.assign(allowed_.begin(), allowed_.end());
    rules_.denied.assign(denied_.begin(), denied_.end());
    return std::move(rules_);
  }

 private:
  void resolve_allowed();
  void resolve_capabilities();
  void deny(const std::string& rule);
  [[nodiscard]] std::vector<std::string> files_of(const std::string& rule) const {
    return files_of_rule(rule, scope_);
  }
  [[nodiscard]] bool may_execute(std::string_view real) const {
    return policy_.judge_exec(real, scope_.who).decision == Decision::kAllow;
  }
  /// A link's own name counts as well, unless what it leads to is many programs in one.
  [[nodiscard]] Judgement judge(const ResolvedProgram& program) const {
    const std::string& called = is_multi_call(program.real) ? program.real : program.path;
    return policy_.judge_exec(called, program.real, scope_.who);
  }

  const Config& config_;
  const ProgramScope& scope_;
  Policy policy_;
  ProgramRules rules_;
  std::set<std::string> allowed_;
  std::set<std::string> denied_;
};

void RuleResolver::resolve_allowed() {
  const auto& allow = config_.sandbox.allow;
  if (allow.empty() || std::find(allow.begin(), allow.end(), "*") != allow.end()) return;
  rules_.is_restricted = true;
  for (const std::string& rule : allow) {
    // With arguments it allows the first program only: any other could be given others.
    if (has_arguments(rule)) continue;
    for (std::string& file : files_of(rule)) allowed_.insert(std::move(file));
  }
}

void RuleResolver::resolve_capabilities() {
  if (may_execute(kAnyProgram)) {
    const bool has_denials = policy_.denies_programs(scope_.who);
    if (!has_denials) return;
    for (const ResolvedProgram& program : list_programs(scope_.search_path)) {
      if (judge(program).decision != Decision::kAllow) denied_.insert(program.real);
    }
    return;
  }
  std::set<std::string> granted;
  std::set<std::string> taken;
  for (const ResolvedProgram& program : list_programs(scope_.search_path)) {
    const Judgement judgement = judge(program);
    if (judgement.decision == Decision::kAllow) granted.insert(program.real);
    if (judgement.is_denial) taken.insert(program.real);
  }
  // The wall knows the file only: a denial of one of its names is one of them all.
  for (const std::string& real : taken) {
    if (granted.erase(real) > 0) denied_.insert(real);
  }
  if (rules_.is_restricted) {
    std::erase_if(allowed_, [&](const std::string& path) {
      return !granted.contains(path) && !may_execute(path);
    });
    return;
  }
  rules_.is_restricted = true;
  allowed_ = std::move(granted);
}

void RuleResolver::deny(const std::string& rule) {
  const std::vector<std::string> files = files_of(rule);
  bool is_held = !files.empty() && !has_arguments(rule);
  for (const std::string& file : files) {
    const std::string name = program_of(rule);
    const bool is_other = is_multi_call(file) && !file.ends_with(name.substr(name.rfind('/') + 1));
    const bool is_file = !file.ends_with('/') && !is_in_directory(file, scope_.workspace);
    is_held = is_held && is_file && !is_other;
    if (!is_held) break;
    const ProgramNames known = names_of_program(file, scope_.search_path);
    denied_.insert(known.names.begin(), known.names.end());
    is_held = known.is_complete;
  }
  // What cannot be executed anyway needs no wall of its own.
  const bool is_shut = rules_.is_restricted &&
                       std::none_of(files.begin(), files.end(),
                                    [this](const auto& file) { return allowed_.count(file) != 0; });
  if (!is_held && !is_shut && program_of(rule) != "*") rules_.unchecked.push_back(rule);
}

bool is_covered(const std::vector<std::string>& allowed, const std::string& file) {
  if (std::binary_search(allowed.begin(), allowed.end(), file)) return true;
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& path) {
    return path.ends_with('/') && file.starts_with(path);
  });
}

}  // namespace

ProgramRules narrowed_to(const std::vector<std::string>& programs, ProgramRules rules,
                         const ProgramScope& scope) {
  std::set<std::string> files;
  for (const std::string& program : programs) {
    for (std::string& file : files_of_rule(program, scope)) {
      if (is_multi_call(file)) rules.unchecked.push_back(program);
      if (!rules.is_restricted || is_covered(rules.allowed, file)) files.insert(std::move(file));
    }
  }
  rules.is_restricted = true;
  rules.allowed.assign(files.begin(), files.end());
  return rules;
}

bool is_among(const std::vector<std::string>& programs, const std::string& name,
              const ResolvedProgram& program, const ProgramScope& scope) {
  return std::any_of(programs.begin(), programs.end(), [&](const std::string& one) {
    if (one == name) return true;
    const std::vector<std::string> files = files_of_rule(one, scope);
    return std::find(files.begin(), files.end(), program.real) != files.end();
  });
}

std::string placed_rule(const std::string& rule, const std::string& workspace) {
  const std::string program = program_of(rule);
  if (program.find('/') == program.npos || program.starts_with('/')) return rule;
  const std::string below = program.starts_with("./") ? rule.substr(2) : rule;
  return workspace + "/" + below;
}

ProgramRules program_rules(const Config& config, const ProgramScope& scope) {
  return RuleResolver(config, scope).run();
}

}  // namespace galley
