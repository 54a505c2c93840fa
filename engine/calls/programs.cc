#include "engine/calls/programs.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/policy/grant_book.h"
#include "engine/policy/policy.h"

namespace galley {

/// The principals whose rules apply, and the search path of programs.
struct ProgramScope {
  const Principals& who;
  const std::string& workspace;
  const std::string& search_path;
};

namespace {

/// Represents all programs that no rule names.
constexpr const char* kAnyProgram = "/usr/lib/any-program";

bool has_arguments(const std::string& rule) { return rule.find(' ') != rule.npos; }
std::string program_of(const std::string& rule) { return rule.substr(0, rule.find(' ')); }

bool is_in_directory(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

/// Returns a rule in which the program is a path. A relative path with a `/` is below the
/// workspace, and a path that ends in `/` is a directory. A plain name stays unchanged.
std::string placed_rule(const std::string& rule, const std::string& workspace) {
  const std::string program = program_of(rule);
  if (program.find('/') == program.npos || program.starts_with('/')) return rule;
  const std::string below = program.starts_with("./") ? rule.substr(2) : rule;
  return workspace + "/" + below;
}

/// Returns the files, or the directory, that the program of a rule names.
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
  // A command can change the target of a link in the workspace.
  files.push_back(is_ours ? program : real_program_path(program) + (is_directory ? "/" : ""));
  return files;
}

/// Whether one of the files, or of the directories, is this program.
bool has_file(const std::vector<std::string>& files, const std::string& program) {
  return std::any_of(files.begin(), files.end(), [&](const std::string& path) {
    return path == program || (path.ends_with('/') && program.starts_with(path));
  });
}

CalledProgram program_in(const std::string& workspace, const ResolvedProgram& program,
                         bool is_found_by_name) {
  // One name of a multi-call binary does not tell what the file can do.
  CalledProgram called{is_multi_call(program.real) ? program.real : program.path,
                       program.real,
                       {},
                       is_found_by_name};
  if (!is_in_directory(program.real, workspace)) return called;
  called.in_workspace = std::string_view(program.real).substr(workspace.size() + 1);
  return called;
}

/// Whether a name means this program: it is in PATH or is a part of Galley's tool that is called.
/// Agents write programs in the workspace, so a name never means those.
bool is_found_by_name(const ResolvedProgram& program, const Command& command,
                      const ProgramScope& scope) {
  if (is_in_directory(program.real, scope.workspace)) return false;
  const auto& own = command.readable;
  const bool is_of_tool = std::any_of(own.begin(), own.end(), [&](const std::string& folder) {
    return is_in_directory(program.path, folder) && !is_in_directory(folder, scope.workspace);
  });
  if (is_of_tool) return true;
  const std::string name = program.path.substr(program.path.rfind('/') + 1);
  const auto known = list_programs(scope.search_path, name);
  return std::any_of(known.begin(), known.end(),
                     [&](const ResolvedProgram& one) { return one.real == program.real; });
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
  [[nodiscard]] bool may_execute(const std::string& file) const {
    const ResolvedProgram program{file, file};
    return policy_.judge_exec(program_in(scope_.workspace, program, false), scope_.who).decision ==
           Decision::kAllow;
  }
  /// Judges a program in PATH. A link is judged by its own name as well, unless its target is a
  /// multi-call binary.
  [[nodiscard]] Judgement judge(const ResolvedProgram& program) const {
    const bool is_outside = !is_in_directory(program.real, scope_.workspace);
    return policy_.judge_exec(program_in(scope_.workspace, program, is_outside), scope_.who);
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
    // A rule with arguments allows only the first program: a program that starts it could pass
    // others.
    if (has_arguments(rule)) continue;
    const bool is_name = rule.find('/') == rule.npos;
    for (std::string& file : files_of(rule)) {
      // A name allows no file of the tree, also if a folder of PATH is in it.
      if (is_name && is_in_directory(file, scope_.workspace)) continue;
      allowed_.insert(std::move(file));
    }
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
  // The wall sees only files: denying one name of a file denies all its names.
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
  // A program that is not executable anyway needs no wall.
  const bool is_shut = rules_.is_restricted &&
                       std::none_of(files.begin(), files.end(),
                                    [this](const auto& file) { return allowed_.count(file) != 0; });
  if (!is_held && !is_shut && program_of(rule) != "*") rules_.unchecked.push_back(rule);
}

}  // namespace

Programs::Programs(const Config& config, Principals who, std::string workspace)
    : config_(&config), who_(std::move(who)), workspace_(std::move(workspace)) {}

Result<void> Programs::check(const Command& command, const std::string& search_path) {
  if (command.argv.empty()) {
    return fail(ErrorKind::kInvalid, "sandbox.bad_command", "no program was named");
  }
  const std::string& name = command.argv[0];
  GALLEY_ASSIGN(const ResolvedProgram program,
                resolve_program(name, search_path, workspace_, command.working_directory));
  const ProgramScope scope{who_, workspace_, search_path};
  const bool is_found = is_found_by_name(program, command, scope);
  GALLEY_TRY(check_lists(command, program, scope, is_found));
  const auto names_it = [&](const std::string& one) {
    if (one == name) return true;
    const auto files = files_of_rule(one, scope);
    return std::find(files.begin(), files.end(), program.real) != files.end();
  };
  const auto& only = command.only_programs;
  if (only && std::none_of(only->begin(), only->end(), names_it)) {
    return fail(ErrorKind::kRefused, "command.not_allowed",
                "'" + name + "' is not among the programs that this call may start");
  }
  const Judgement exec =
      Policy(*config_).judge_exec(program_in(workspace_, program, is_found), who_);
  if (exec.decision == Decision::kAllow) return {};
  // `exec:python3` also grants python3.11 if python3 links to that file.
  const ProgramRules rules = rules_for(search_path);
  const bool has_another_name =
      !program.is_in_workspace && rules.is_restricted &&
      std::binary_search(rules.allowed.begin(), rules.allowed.end(), program.real);
  if (has_another_name) return {};
  return fail(ErrorKind::kRefused, "command.no_capability", exec.message);
}

Result<void> Programs::check_lists(const Command& command, const ResolvedProgram& program,
                                   const ProgramScope& scope, bool is_found) const {
  const auto matches = [&](const std::string& rule) {
    return command_matches(rule, program, command.argv) ||
           command_matches(placed_rule(rule, workspace_), program, command.argv);
  };
  const auto& deny = config_->sandbox.deny;
  const auto denied = std::find_if(deny.begin(), deny.end(), matches);
  if (denied != deny.end()) {
    return fail(
        ErrorKind::kRefused, "command.denied",
        "'" + command.argv[0] + "' is denied by '" + *denied + "' in sandbox.deny of galley.toml");
  }
  // A name denies all programs of that name, but allows only the one in PATH.
  const auto allows = [&](const std::string& rule) {
    const std::string named = program_of(rule);
    const bool is_path = named.find('/') != named.npos;
    return matches(rule) && (is_found || named == "*" ||
                             (is_path && has_file(files_of_rule(rule, scope), program.real)));
  };
  const auto& allow = config_->sandbox.allow;
  if (allow.empty() || std::any_of(allow.begin(), allow.end(), allows)) return {};
  return fail(ErrorKind::kRefused, "command.not_allowed",
              "'" + command.argv[0] + "' (" + program.real +
                  ") is not in sandbox.allow of galley.toml; use a program that is, or add it");
}

ProgramRules Programs::walls(const Command& command, const std::string& search_path) {
  ProgramRules rules = rules_for(search_path);
  if (!command.only_programs) return rules;
  std::set<std::string> files;
  for (const std::string& program : *command.only_programs) {
    for (std::string& file : files_of_rule(program, {who_, workspace_, search_path})) {
      if (is_multi_call(file)) rules.unchecked.push_back(program);
      if (!rules.is_restricted || has_file(rules.allowed, file)) files.insert(std::move(file));
    }
  }
  rules.is_restricted = true;
  rules.allowed.assign(files.begin(), files.end());
  return rules;
}

/// Caches the lookup of programs, which reads every directory in PATH.
ProgramRules Programs::rules_for(const std::string& search_path) {
  const std::lock_guard lock(mutex_);
  // New grants and revocations take effect at once.
  const uint64_t version = config_->grants != nullptr ? config_->grants->version() : 0;
  if (std::exchange(rules_version_, version) != version) rules_.clear();
  const auto known = rules_.find(search_path);
  if (known != rules_.end()) return known->second;
  const ProgramScope scope{who_, workspace_, search_path};
  return rules_.emplace(search_path, RuleResolver(*config_, scope).run()).first->second;
}

}  // namespace galley
