#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/principals.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// A rule's decision about one path or about the whole change (empty path).
struct Judgement {
  Decision decision = Decision::kAllow;
  std::string id;  ///< stable dotted name: `policy.path`, `policy.effect`, `policy.capability`,
                   ///< `policy.always` for rules that always apply
  std::string path;
  std::string rule;        ///< its name: `generated code`, `policy.effects.max_files`, `agents.bot`
  uint32_t line = 0;       ///< in galley.toml; 0 for rules that always apply
  std::string message;     ///< one sentence with rule, path and line
  std::string remedy;      ///< the next action
  bool is_denial = false;  ///< true: a capability denies it; false: none gives it
};

/// Returns the strictest result of `judge` for the names, or the caller's if results are equal.
template <class Judge>
[[nodiscard]] Judgement strictest(const Principals& who, const Judge& judge) {
  Judgement worst = judge(who.caller());
  for (size_t i = 1; i < who.names().size(); ++i) {
    Judgement next = judge(who.names()[i]);
    if (next.decision > worst.decision) worst = std::move(next);
  }
  return worst;
}

/// Returns `galley.toml:12`, or only the file if `line` is 0.
[[nodiscard]] std::string place_in(const Config& config, uint32_t line);

/// The policy's judgement of a whole proposal.
struct PolicyReport {
  Decision decision = Decision::kAllow;  ///< the strictest of all
  std::vector<Judgement> judgements;     ///< those that are not kAllow, strictest first
};

/// The text of `galley policy explain`.
struct Explanation {
  Judgement judgement;             ///< the decision and its cause
  std::vector<std::string> steps;  ///< all matching rules in order, for people
};

/// The result of a policy test file.
struct PolicyTestResult {
  size_t passed = 0;
  std::vector<Finding> failures;  ///< `path` is the test file, `line` the line of the case
};

/// Judges by path rules, effect rules and agents' capabilities of a Config, and by rules that
/// always apply.
///
/// galley.toml cannot allow changes of protected directories (also git's directories under other
/// names), special files, setuid bits, and symbolic links that lead outside the workspace or into a
/// protected directory. The policy also refuses changes of galley.toml, unless
/// `Config::configuration_is_editable`, and an agent's changes of agents' configuration, unless
/// `Config::agent_files_are_editable`. For several principals the strictest result applies.
///
/// Ownership: borrows the Config.
/// Threads:   immutable, safe to share.
class Policy {
 public:
  explicit Policy(const Config& config) : config_(&config) {}

  /// Judges the effects of a proposal, independent of the tools that caused them.
  [[nodiscard]] Result<PolicyReport> judge(const ProposedTree& tree, const Principals& who) const;

  /// Judges one operation on one path before anything is staged: path rules, protected paths and
  /// capabilities only.
  [[nodiscard]] Judgement judge_path(const RelPath& path, PathOperation operation,
                                     const Principals& who) const;
  /// Judges a write of a path by the profiles only, without the rules.
  [[nodiscard]] Judgement judge_write(const RelPath& path, PathOperation operation,
                                      const Principals& who, bool is_directory = false) const;
  /// Judge whether the principals may read a path, run a program or use the network (`fs:read`,
  /// `exec`, `net`).
  [[nodiscard]] Judgement judge_read(const RelPath& path, const Principals& who) const;
  [[nodiscard]] Judgement judge_exec(const CalledProgram& program, const Principals& who) const;
  [[nodiscard]] Judgement judge_network(const Principals& who) const;
  /// Judges whether the principals have a capability of an open domain. People have all of them. An
  /// agent has those of its profile, or without a profile its grants. Only
  /// people have `sec`. The id of the judgement is `capability.missing`.
  [[nodiscard]] Judgement judge_capability(std::string_view needed, const Principals& who) const;
  /// Returns why a person cannot grant this capability to an agent: galley.toml denies it, or it is
  /// for people only.
  /// Errors: kRefused `grant.wider_than_configuration`.
  [[nodiscard]] std::optional<Error> objection_to_grant(std::string_view agent,
                                                        const Capability& capability) const;
  /// Returns the profile of this agent if it limits capabilities, else null. A grant gives no more.
  [[nodiscard]] const AgentProfile* bounds(std::string_view agent) const;
  /// Whether a principal's profile or a revocation denies a program that another string gave.
  [[nodiscard]] bool denies_programs(const Principals& who) const;
  /// Judges whether the principals may call a tool.
  [[nodiscard]] Judgement judge_tool(std::string_view tool, const Principals& who) const;
  /// As above, for an action that several tools have: one allowed tool is enough. The message names
  /// `what` and the first tool.
  [[nodiscard]] Judgement judge_tools(std::string_view what, const std::vector<std::string>& any_of,
                                      const Principals& who) const;
  /// Whether a profile limits the tools of the principals.
  [[nodiscard]] bool limits_tools(const Principals& who) const;
  /// Returns the tool profile whose names this agent uses; empty: none.
  [[nodiscard]] std::string_view tool_profile(std::string_view agent) const;
  /// Whether a profile limits the paths that the principals may read. Without a profile they may
  /// read all paths.
  [[nodiscard]] bool limits_reading(const Principals& who) const;
  /// Whether the caller's profile gives the network and no other profile denies it. Without a
  /// profile the result is false.
  [[nodiscard]] bool grants_network(const Principals& who) const;

  /// Explains the decision about one operation on one path.
  [[nodiscard]] Explanation explain(const RelPath& path, PathOperation operation,
                                    std::string_view agent) const;

  /// Runs a table of expectations: `[[case]] path, operation, agent, expect` in TOML.
  /// Errors: kInvalid as parse_config's.
  [[nodiscard]] Result<PolicyTestResult> test(std::string_view toml, std::string_view file) const;

 private:
  [[nodiscard]] const AgentProfile* profile(std::string_view agent) const;
  [[nodiscard]] std::optional<Capability> newest_decision(std::string_view agent,
                                                          const Need& need) const;
  /// Judges one need. `what` names it in the message.
  [[nodiscard]] Judgement judge_need(const Need& need, const std::string& what,
                                     const Principals& who) const;
  [[nodiscard]] Judgement judge_reading(const RelPath& path, const Principals& who) const;
  [[nodiscard]] std::optional<Judgement> judge_configuration(const RelPath& path) const;
  [[nodiscard]] Judgement judge_rules(const RelPath& path, PathOperation operation,
                                      std::string_view agent, bool is_directory) const;
  [[nodiscard]] const std::string* bound_agent(const Principals& who) const;
  [[nodiscard]] std::optional<Judgement> judge_agent_files(const RelPath& path,
                                                           const Principals& who,
                                                           bool is_linked = false) const;
  /// `agent_links`: what targets_of_agent_links() returns.
  [[nodiscard]] Result<void> judge_fixed_rules(const ProposedTree& tree, const Change& change,
                                               const Principals& who,
                                               const std::vector<RelPath>& agent_links,
                                               std::vector<Judgement>& out) const;
  void judge_change(const ProposedTree& tree, const Change& change, std::string_view agent,
                    std::vector<Judgement>& out) const;
  void judge_operation(const ProposedTree& tree, const Change& change, PathOperation operation,
                       bool is_directory, std::string_view agent,
                       std::vector<Judgement>& out) const;

  const Config* config_;
};

}  // namespace galley
