#include "engine/calls/early_policy.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/calls/tool_names.h"
#include "staging/overlay/staged_step.h"
#include "tools/profiles.h"

namespace galley {

namespace {

/// Kinds of actions that stage changes.
bool stages(AuditKind kind) {
  return kind == AuditKind::kCall || kind == AuditKind::kCallDryRun || kind == AuditKind::kExec ||
         kind == AuditKind::kEdit || kind == AuditKind::kFix || kind == AuditKind::kRun;
}

/// Kinds without a tool name. Their changes are checked against the agent's list of tools.
bool is_named_by_no_tool(AuditKind kind) {
  return kind == AuditKind::kEdit || kind == AuditKind::kFix;
}

}  // namespace

Error error_of(const Judgement& judgement) {
  std::string message = judgement.message;
  if (!judgement.remedy.empty()) message += ". To go on: " + judgement.remedy;
  return {ErrorKind::kRefused, judgement.id, std::move(message), judgement.path, 0};
}

/// Refuses only if every operation on this path is denied.
Judgement EarlyPolicy::judge_write(const RelPath& path) const {
  const auto node = overlay_->node_without_content(path);
  const bool is_new = node && node->kind == FileKind::kAbsent;
  if (is_new) return policy_.judge_path(path, PathOperation::kCreate, who_);
  // Only the files in a directory count; the gate checks them.
  if (node && node->kind == FileKind::kDirectory) return {};
  Judgement modify = policy_.judge_path(path, PathOperation::kModify, who_);
  if (modify.decision != Decision::kDeny) return modify;
  const Judgement remove = policy_.judge_path(path, PathOperation::kDelete, who_);
  return remove.decision == Decision::kDeny ? modify : remove;
}

/// A search in a directory skips files that must not be read. A copy or move needs permission for
/// every file in it.
Judgement EarlyPolicy::judge_source(const RelPath& path, bool only_looks) const {
  if (!policy_.limits_reading(who_)) return {};
  const auto node = overlay_->node_without_content(path);
  if (!node || node->kind != FileKind::kDirectory) return policy_.judge_read(path, who_);
  if (only_looks) return {};
  std::vector<RelPath> todo = {path};
  while (!todo.empty()) {
    const RelPath directory = todo.back();
    todo.pop_back();
    const auto entries = overlay_->list(directory);
    if (!entries) break;  // the tool reports the error
    for (const DirectoryEntry& entry : *entries) {
      const auto name = RelPath::parse(entry.name);
      const auto child = name ? directory.join(*name) : name;
      if (!child) continue;
      if (entry.kind == FileKind::kDirectory) {
        todo.push_back(*child);
        continue;
      }
      Judgement read = policy_.judge_read(*child, who_);
      if (read.decision == Decision::kDeny) return read;
    }
  }
  return {};
}

std::optional<Error> EarlyPolicy::not_in_profile(std::string_view tool) const {
  const std::string_view name = policy_.tool_profile(who_.caller());
  if (name.empty()) return {};
  const auto profile = profile_named(name);
  if (!profile) return profile.error();
  const auto shown = (*profile)->check_shows(tool);
  return shown ? std::nullopt : std::optional<Error>(shown.error());
}

std::optional<Error> EarlyPolicy::no_shell_in_profile() const {
  const std::string_view name = policy_.tool_profile(who_.caller());
  if (name.empty()) return {};
  const auto profile = profile_named(name);
  if (!profile) return profile.error();
  if ((*profile)->runs_programs()) return {};
  return Error{ErrorKind::kRefused,
               "command.no_shell",
               "no tool of the profile '" + std::string(name) + "' runs programs, so '" +
                   std::string(who_.caller()) +
                   "' runs no command; call one of its tools: galley tools list --profile " +
                   std::string(name),
               {},
               0};
}

Error refusal_of_writing() {
  return {ErrorKind::kRefused, "transaction.reads_only",
          "this session only reads; begin another one to change something", "", 0};
}

std::optional<Error> EarlyPolicy::refusal(const Action& action) const {
  auto no = refusal_by_session(action);
  if (!no) no = refusal_by_rules(action);
  return no && session_.no_grants ? session_.no_grants : no;
}

/// A read-only session may read and roll back. While a run is live only its capture stages changes,
/// since a capture replaces everything that is staged.
std::optional<Error> EarlyPolicy::refusal_by_session(const Action& action) const {
  const AuditKind kind = action.record.kind;
  if (action.only_looks) return {};
  if (!session_.live_run.empty() && kind != AuditKind::kCommit && kind != AuditKind::kFork) {
    return Error{ErrorKind::kRefused, "run.live",
                 "a program runs in this transaction, and only what it writes is staged here; end "
                 "it first: galley stop " +
                     session_.live_run,
                 "", 0};
  }
  if (!session_.reads_only || kind == AuditKind::kRollback) return {};
  return refusal_of_writing();
}

/// `[tools]` and `policy.mode` name tools. They hold for the dialects of the shell, too, and for
/// what a named caller does without a call.
std::optional<Error> EarlyPolicy::refusal_by_equal_tool(const Action& action) const {
  const bool is_strict = config_->policy.mode == SecurityMode::kStrict;
  if (config_->tools.empty() && !is_strict) return {};
  const AuditKind kind = action.record.kind;
  const std::vector<std::string> shells = tools_with_effect(ToolEffect::kRun);
  const bool is_named = !who_.caller().empty();
  // A whole run is judged at its end.
  const bool is_command = kind == AuditKind::kExec;
  const bool is_shell = kind == AuditKind::kCall &&
                        std::find(shells.begin(), shells.end(), action.record.tool) != shells.end();
  const auto shell = config_->tools.find(shells.front());
  const bool is_disabled = shell != config_->tools.end() && !shell->second.is_enabled;
  if (is_disabled && (is_shell || (is_command && is_named))) {
    return Error{
        ErrorKind::kRefused, "tool.disabled",
        "the tool '" + shells.front() + "' is disabled here, so an agent executes no command", "",
        0};
  }
  if (!is_named || !is_strict || action.only_looks) return {};
  // A merge brings in lines that were judged when they were staged.
  const bool is_edit =
      is_named_by_no_tool(kind) && !action.merges && action.record.tool != "markers";
  if (action.tools.empty() || (!is_command && !is_edit)) return {};
  return Error{ErrorKind::kRefused, "call.tier_denied",
               "the mode `strict` asks a person about what the tool " + action.tools.front() +
                   " does, and only a call can be approved: galley call " + action.tools.front(),
               "", 0};
}

std::optional<Error> EarlyPolicy::refusal_by_rules(const Action& action) const {
  if (auto no = refusal_by_equal_tool(action)) return no;
  if (action.record.kind == AuditKind::kExec || action.record.kind == AuditKind::kRun) {
    if (auto none = no_shell_in_profile()) return none;
  }
  if (!action.tools.empty()) {
    const std::string& name = action.tools.front();
    const bool is_call = action.tools.size() == 1 && name == action.record.tool;
    if (is_call) {
      if (auto unknown = not_in_profile(name)) return unknown;
    }
    const Judgement tool = policy_.judge_tools(
        (is_call ? "the tool " : "what is done by the tool ") + name, action.tools, who_);
    if (tool.decision == Decision::kDeny) return error_of(tool);
  }
  for (const std::string& needed : action.capabilities) {
    if (!is_open_need(needed)) continue;
    const Judgement capability = policy_.judge_capability(needed, who_);
    if (capability.decision == Decision::kDeny) return error_of(capability);
  }
  if (auto too_long = refusal_of_time(action.intent)) return too_long;
  for (const RelPath& path : action.intent.reads) {
    const Judgement read = judge_source(path, action.only_looks);
    if (read.decision == Decision::kDeny) return error_of(read);
  }
  for (const RelPath& path : action.intent.writes) {
    const Judgement write = judge_write(path);
    if (write.decision == Decision::kDeny) return error_of(write);
  }
  return {};
}

/// A command that asks for more time than it gets would run to the limit, and only then lose its
/// changes.
std::optional<Error> EarlyPolicy::refusal_of_time(const Intent& intent) const {
  const std::chrono::milliseconds most(config_->sandbox.timeout_ms);
  if (!intent.timeout || most.count() == 0 || *intent.timeout <= most) return {};
  return Error{ErrorKind::kUsage,
               "exec.timeout",
               "the call asks for " + std::to_string(intent.timeout->count()) +
                   " ms and sandbox.timeout_ms allows " + std::to_string(most.count()) +
                   ": ask for less, or have a person raise it in galley.toml and run galley trust",
               {},
               0};
}

Result<void> check_file_size(const LimitsConfig& limits, const RelPath& path, const Node& before,
                             const Node& after) {
  const bool is_held = limits.max_file_bytes > 0 && after.content != before.content;
  if (!is_held || after.size <= limits.max_file_bytes) return {};
  return fail(ErrorKind::kQuota, "limit.file_size",
              "'" + path.str() + "' would have " + std::to_string(after.size) +
                  " bytes; limits.max_file_bytes allows " + std::to_string(limits.max_file_bytes),
              path.str());
}

bool EarlyPolicy::judges_effects() const {
  return !who_.is_alone() || policy_.limits_tools(who_) || config_->limits.max_file_bytes > 0;
}

std::optional<Error> EarlyPolicy::refusal_of_effect(const Action& action,
                                                    const Overlay::Entries& before,
                                                    const Overlay::Entries& now) const {
  const AuditKind kind = action.record.kind;
  // One file over the limit must not drop all changes of a run. The gate refuses that file.
  if (config_->limits.max_file_bytes > 0 && stages(kind) && kind != AuditKind::kRun) {
    for (const RelPath& path : restaged_paths(before, now)) {
      const auto at = now.find(path);
      if (at == now.end()) continue;
      const auto size = check_file_size(config_->limits, path, at->second.before, at->second.now);
      if (!size) return size.error();
    }
  }
  if (!who_.is_alone() && stages(kind)) {
    const auto denied = denied_changes(*config_, who_, before, now);
    if (!denied.empty()) return error_of(denied.front());
  }
  if (!is_named_by_no_tool(kind) || !policy_.limits_tools(who_)) return {};
  for (const StagedEffect& one : staged_effects(before, now)) {
    const std::vector<std::string> tools = tools_with_effect(one.effect);
    Judgement judgement = policy_.judge_tools(
        "what is done by the tool " + tools.front() + " to '" + one.path.str() + "'", tools, who_);
    if (judgement.decision != Decision::kDeny) continue;
    judgement.path = one.path.str();
    return error_of(judgement);
  }
  return {};
}

std::function<bool(const RelPath&)> EarlyPolicy::reading_rule() const {
  if (!policy_.limits_reading(who_)) return {};
  return [policy = policy_, who = who_](const RelPath& path) {
    return policy.judge_read(path, who).decision != Decision::kDeny;
  };
}

std::vector<std::string> EarlyPolicy::capabilities() const {
  std::vector<std::string> all = {"fs:read", "fs:write", "exec:*", "*:*"};
  const bool is_granted = policy_.grants_network(who_);
  if (config_->sandbox.allows_network && is_granted) all.emplace_back("net:host");
  return all;
}

bool EarlyPolicy::gives(std::string_view needed) const {
  const bool is_network = needed == "net" || needed.starts_with("net:");
  if (is_network) return config_->sandbox.allows_network && policy_.grants_network(who_);
  const Judgement judgement = policy_.judge_capability(needed, who_);
  // Every agent has the capabilities of files and programs, unless a profile or a grant says
  // otherwise.
  const bool is_unsaid = judgement.rule == "grants" && !is_open_need(needed);
  return judgement.decision != Decision::kDeny || is_unsaid;
}

PathOperation staged_operation(const Overlay::Entry& entry) {
  if (entry.before.kind == FileKind::kAbsent) return PathOperation::kCreate;
  return entry.now.kind == FileKind::kAbsent ? PathOperation::kDelete : PathOperation::kModify;
}

std::vector<Judgement> denied_changes(const Config& config, const Principals& who,
                                      const Overlay::Entries& before, const Overlay::Entries& now) {
  const auto is_directory = [](const Overlay::Entry& entry) {
    return entry.now.kind == FileKind::kDirectory ||
           (entry.before.kind == FileKind::kDirectory && entry.now.kind == FileKind::kAbsent);
  };
  const Policy policy(config);
  std::vector<Judgement> denials;
  for (const RelPath& path : restaged_paths(before, now)) {
    const auto at = now.find(path);
    const Overlay::Entry& entry = at != now.end() ? at->second : before.at(path);
    if (is_directory(entry)) continue;
    Judgement judgement = policy.judge_path(path, staged_operation(entry), who);
    if (judgement.decision == Decision::kDeny) denials.push_back(std::move(judgement));
  }
  return denials;
}

bool may_show(const Policy& policy, const RelPath& path, std::string_view agent) {
  return !policy.limits_reading(agent) ||
         policy.judge_read(path, agent).decision != Decision::kDeny;
}

ReadablePart readable_part(const Proposal& proposal, const Policy& policy, std::string_view agent) {
  if (!policy.limits_reading(agent)) return {proposal, {}};
  ChangeSet shown;
  std::vector<RelPath> left_out;
  for (const Change& change : proposal.changes()) {
    const bool has_content =
        change.before.kind == FileKind::kRegular || change.before.kind == FileKind::kSymlink ||
        change.after.kind == FileKind::kRegular || change.after.kind == FileKind::kSymlink;
    const auto is_hidden = [&](const std::optional<RelPath>& path) {
      return path && !may_show(policy, *path, agent);
    };
    if (has_content && (is_hidden(change.path) || is_hidden(change.renamed_from) ||
                        is_hidden(change.copied_from))) {
      left_out.push_back(change.path);
    } else {
      shown.push_back(change);
    }
  }
  if (left_out.empty()) return {proposal, {}};
  return {Proposal::from(std::move(shown), proposal.store()), std::move(left_out)};
}

}  // namespace galley
