#include "engine/policy/policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "base/contains.h"
#include "engine/policy/agent_files.h"
#include "engine/policy/effects.h"
#include "engine/policy/git_directories.h"

namespace galley {
namespace {

constexpr uint32_t kOtherModeBits = ~uint32_t{0777};
constexpr std::string_view kEditItYourself =
    "edit galley.toml yourself, outside Galley, or set `edits_configuration = true` in your own "
    "configuration $XDG_CONFIG_HOME/galley/config.toml";

constexpr std::string_view kLetAPersonEditIt =
    "leave it as it is, or have a person change it without --agent; a person may set "
    "`edits_configuration = true` in the own configuration $XDG_CONFIG_HOME/galley/config.toml";

PathOperation operation_of(const Change& change) {
  if (change.is_create()) return PathOperation::kCreate;
  return change.is_delete() ? PathOperation::kDelete : PathOperation::kModify;
}

Judgement always(const RelPath& path, std::string_view what, std::string_view remedy) {
  Judgement judgement;
  judgement.decision = Decision::kDeny;
  judgement.id = "policy.always";
  judgement.rule = "always";
  judgement.path = path.str();
  judgement.message = fmt::format("{}: {}", path.str(), what);
  judgement.remedy = remedy;
  return judgement;
}

std::string_view verb(Decision decision) {
  return decision == Decision::kAsk ? "needs an approval" : "is denied";
}

void sort_strictest_first(std::vector<Judgement>& judgements) {
  std::ranges::stable_sort(judgements, std::greater(), &Judgement::decision);
}

/// A Python environment links to the Python of the host, unless it is told to copy it.
std::string remedy_for_link(const RelPath& link) {
  const RelPath folder = link.parent();
  if (folder.name() == "bin" && link.name().starts_with("python")) {
    return "make the environment with a copy of Python: python3 -m venv --copies --clear " +
           folder.parent().str();
  }
  return "copy what it leads to, or link to a path inside the workspace, relative to the link's "
         "directory, as ln -sr does";
}

/// Refuses symbolic links that do not lead inside, special files and special mode bits.
Result<void> judge_node(const ProposedTree& tree, const Change& change,
                        std::vector<Judgement>& out) {
  if (change.after.kind == FileKind::kOther || change.before.kind == FileKind::kOther) {
    out.push_back(always(change.path, "a FIFO, socket or device cannot be committed",
                         "leave it out of the change"));
  }
  if ((change.after.mode & kOtherModeBits) != 0) {
    out.push_back(always(change.path, "setuid, setgid and sticky bits are never set",
                         "use permission bits up to 0777"));
  }
  if (change.after.kind != FileKind::kSymlink || tree.is_returned_link(change.path)) return {};
  GALLEY_ASSIGN(const std::string target, tree.read_link(change.path));
  GALLEY_ASSIGN(const LinkEnd end, follow_link(tree, change.path, target));
  if (end == LinkEnd::kOutside) {
    const std::string what =
        target.starts_with('/')
            ? fmt::format(
                  "the symbolic link has an absolute target ({}), which is outside the "
                  "workspace or would be after a move of it",
                  target)
            : fmt::format("the symbolic link leads outside the workspace (to {})", target);
    out.push_back(always(change.path, what, remedy_for_link(change.path)));
  } else if (end == LinkEnd::kProtected) {
    out.push_back(always(
        change.path, fmt::format("the symbolic link leads into a protected directory ({})", target),
        "link to a path outside .git, .galley and .sage"));
  }
  return {};
}

bool has_change_below(const ChangeSet& changes, const RelPath& directory) {
  const std::string prefix = directory.str() + "/";
  const auto at = std::ranges::lower_bound(
      changes, prefix, {}, [](const Change& one) -> const std::string& { return one.path.str(); });
  return at != changes.end() && at->path.str().starts_with(prefix);
}

}  // namespace

std::optional<Judgement> Policy::judge_configuration(const RelPath& path) const {
  if (config_->configuration_is_editable || !path.is_configuration()) return std::nullopt;
  return always(path, "the configuration of Galley is never changed by an edit", kEditItYourself);
}

/// The agent that may not change the configuration of agents: it could switch off the hook that
/// judges it. People may.
const std::string* Policy::bound_agent(const Principals& who) const {
  const auto agent =
      std::ranges::find_if(who.names(), [](const std::string& name) { return !name.empty(); });
  return config_->agent_files_are_editable || agent == who.names().end() ? nullptr : &*agent;
}

std::optional<Judgement> Policy::judge_agent_files(const RelPath& path, const Principals& who,
                                                   bool is_linked) const {
  const std::string* agent = bound_agent(who);
  if (agent == nullptr || (!is_linked && !is_agent_file(path))) return std::nullopt;
  return always(
      path,
      fmt::format("the configuration of agents is not changed in the name of the agent {}", *agent),
      kLetAPersonEditIt);
}

std::string_view Policy::tool_profile(std::string_view agent) const {
  const AgentProfile* own = profile(agent);
  return own == nullptr ? std::string_view() : std::string_view(own->tool_profile);
}

Judgement Policy::judge_rules(const RelPath& path, PathOperation operation, std::string_view agent,
                              bool is_directory) const {
  const PolicyConfig& policy = config_->policy;
  Judgement judgement;
  judgement.id = "policy.path";
  judgement.path = path.str();
  judgement.decision = policy.default_decision;
  judgement.rule = "policy.default";
  judgement.line = policy.default_line;
  std::string reason;
  bool is_named = true;
  for (auto rule = policy.rules.rbegin(); rule != policy.rules.rend(); ++rule) {
    const bool is_operation = rule->operations.empty() || contains(rule->operations, operation);
    if (!is_operation || !names_agent(rule->agents, agent)) continue;
    if (!rule->paths.selects(path, is_directory)) continue;
    judgement.decision = rule->decision;
    judgement.rule = rule->name;
    is_named = rule->has_name;
    judgement.line = rule->line;
    reason = rule->reason;
    break;
  }
  if (policy.protected_paths.selects(path, is_directory)) {
    judgement.decision = Decision::kDeny;
    judgement.rule = "policy.protected";
    is_named = true;
    judgement.line = policy.protected_line;
    reason.clear();
  }
  if (judgement.decision == Decision::kAllow) return judgement;
  const std::string by =
      is_named ? fmt::format("`{}` ({})", judgement.rule, place_in(*config_, judgement.line))
               : "the " + judgement.rule;
  judgement.message =
      fmt::format("{}: {} {} by {}{}", path.str(), operation_name(operation),
                  verb(judgement.decision), by, reason.empty() ? "" : ": " + reason);
  judgement.remedy =
      judgement.decision == Decision::kAsk
          ? "ask a person to approve this proposal"
          : fmt::format("leave {} as it is, or ask a person to change the rule at {}", path.str(),
                        place_in(*config_, judgement.line));
  return judgement;
}

Judgement Policy::judge_path(const RelPath& path, PathOperation operation,
                             const Principals& who) const {
  if (path.is_protected()) {
    return always(path, ".git, .galley and .sage are never written by an edit",
                  "use git itself, or leave this path out");
  }
  if (auto configuration = judge_configuration(path)) return *std::move(configuration);
  if (auto of_agents = judge_agent_files(path, who)) return *std::move(of_agents);
  Judgement capability = judge_write(path, operation, who);
  if (capability.decision == Decision::kDeny) return capability;
  return strictest(
      who, [&](std::string_view agent) { return judge_rules(path, operation, agent, false); });
}

Judgement Policy::judge_read(const RelPath& path, const Principals& who) const {
  if (path.is_protected()) {
    return always(path, ".git, .galley and .sage are not shown", "read another path");
  }
  return judge_reading(path, who);
}

/// The rules that apply whatever galley.toml says.
Result<void> Policy::judge_fixed_rules(const ProposedTree& tree, const Change& change,
                                       const Principals& who,
                                       const std::vector<RelPath>& agent_links,
                                       std::vector<Judgement>& out) const {
  for (const auto* source : {&change.renamed_from, &change.copied_from}) {
    if (source->has_value() && (*source)->is_protected()) {
      out.push_back(always(change.path, "its content comes from the protected " + (*source)->str(),
                           "take the content from a file of the workspace"));
    }
  }
  if (change.path.is_protected()) {
    out.push_back(always(change.path, ".git, .galley and .sage are never written by an edit",
                         "use git itself, or leave this path out"));
    return {};
  }
  if (auto configuration = judge_configuration(change.path)) {
    out.push_back(*std::move(configuration));
    return {};
  }
  const bool is_linked = std::ranges::any_of(agent_links, [&](const RelPath& target) {
    return change.path == target || change.path.str().starts_with(target.str() + "/");
  });
  if (auto of_agents = judge_agent_files(change.path, who, is_linked)) {
    out.push_back(*std::move(of_agents));
    return {};
  }
  return judge_node(tree, change, out);
}

void Policy::judge_change(const ProposedTree& tree, const Change& change, std::string_view agent,
                          std::vector<Judgement>& out) const {
  const bool was_directory = change.before.kind == FileKind::kDirectory;
  const bool is_directory = change.after.kind == FileKind::kDirectory;
  const PathOperation operation = operation_of(change);
  const bool changes_both = operation == PathOperation::kModify && was_directory != is_directory;
  if (changes_both) {
    // A folder in the place of a file deletes the file, and the other way round.
    judge_operation(tree, change, PathOperation::kDelete, was_directory, agent, out);
    if (was_directory) judge_operation(tree, change, operation, true, agent, out);
  }
  judge_operation(tree, change, operation, change.is_delete() ? was_directory : is_directory, agent,
                  out);
  for (const auto* source : {&change.renamed_from, &change.copied_from}) {
    if (!source->has_value()) continue;
    Judgement read = judge_read(**source, agent);
    if (read.decision != Decision::kAllow) out.push_back(std::move(read));
  }
}

void Policy::judge_operation(const ProposedTree& tree, const Change& change,
                             PathOperation operation, bool is_directory, std::string_view agent,
                             std::vector<Judgement>& out) const {
  // Directories that come or go with their contents are not judged: only a rule that names a
  // directory says more than the rules for the paths below.
  const bool comes =
      change.after.kind != change.before.kind && change.after.kind == FileKind::kDirectory;
  const bool is_implied = is_directory && (comes || change.is_delete()) &&
                          has_change_below(tree.proposal().changes(), change.path);
  if (!is_implied) {
    Judgement capability = judge_write(change.path, operation, agent, is_directory);
    if (capability.decision != Decision::kAllow) out.push_back(std::move(capability));
  }
  Judgement rules = judge_rules(change.path, operation, agent, is_directory);
  if (rules.decision != Decision::kAllow && !(is_implied && rules.rule == "policy.default")) {
    out.push_back(std::move(rules));
  }
}

Result<PolicyReport> Policy::judge(const ProposedTree& tree, const Principals& who) const {
  PolicyReport report;
  auto& found = report.judgements;
  GALLEY_ASSIGN(const GitDirectories git, GitDirectories::of(tree));
  std::vector<RelPath> agent_links;
  if (bound_agent(who) != nullptr) {
    GALLEY_ASSIGN(agent_links, targets_of_agent_links(tree.workspace(), tree.root_path()));
  }
  for (const Change& change : tree.proposal().changes()) {
    const size_t before = found.size();
    GALLEY_TRY(judge_fixed_rules(tree, change, who, agent_links, found));
    if (const std::string why = git.protection_reason(change); !why.empty()) {
      found.push_back(always(change.path, why, "use git itself, or leave this path out"));
    }
    if (found.size() != before) continue;
    for (const std::string& name : who.names()) {
      std::vector<Judgement> own;
      judge_change(tree, change, name, own);
      for (Judgement& judgement : own) {
        const bool is_known =
            std::any_of(found.begin() + static_cast<ptrdiff_t>(before), found.end(),
                        [&](const Judgement& other) { return other.message == judgement.message; });
        if (!is_known) found.push_back(std::move(judgement));
      }
    }
  }
  GALLEY_TRY(judge_effects(*config_, tree, git, found));
  sort_strictest_first(found);
  if (!found.empty()) report.decision = found.front().decision;
  return report;
}

Explanation Policy::explain(const RelPath& path, PathOperation operation,
                            std::string_view agent) const {
  Explanation explanation;
  explanation.judgement = judge_path(path, operation, agent);
  auto& steps = explanation.steps;
  steps.push_back(fmt::format("default: {} ({})", decision_name(config_->policy.default_decision),
                              place_in(*config_, config_->policy.default_line)));
  for (const PathRule& rule : config_->policy.rules) {
    const auto hit = rule.paths.deciding(path, false);
    if (!hit) continue;
    const Glob& glob = rule.paths.globs()[*hit];
    const bool is_operation = rule.operations.empty() || contains(rule.operations, operation);
    std::string effect(decision_name(rule.decision));
    if (glob.is_negated()) effect = "not matched";
    if (!names_agent(rule.agents, agent)) effect = "not for this agent";
    if (!is_operation) effect = fmt::format("not for {}", operation_name(operation));
    const std::string name = rule.has_name ? fmt::format(" `{}`", rule.name) : "";
    steps.push_back(fmt::format("{}:{} by pattern `{}`: {}", place_in(*config_, rule.line), name,
                                glob.text(), effect));
  }
  if (config_->policy.protected_paths.selects(path)) {
    steps.push_back(fmt::format("{}: policy.protected: deny",
                                place_in(*config_, config_->policy.protected_line)));
  }
  if (const AgentProfile* own = profile(agent); own != nullptr && own->has_capabilities) {
    const bool is_granted = judge_write(path, operation, agent).decision == Decision::kAllow;
    steps.push_back(fmt::format("{}: [agents.{}] {} fs:write here", place_in(*config_, own->line),
                                own->name, is_granted ? "grants" : "does not grant"));
  }
  if (path.is_protected()) steps.emplace_back("always: .git, .galley and .sage are refused: deny");
  if (judge_configuration(path)) steps.emplace_back("always: galley.toml is refused: deny");
  if (judge_agent_files(path, agent)) {
    steps.emplace_back("always: the configuration of agents is refused to agents: deny");
  }
  return explanation;
}

}  // namespace galley
