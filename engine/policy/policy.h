#pragma once

#include <cstdint>
#include <functional>
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
                   ///< `policy.always` for rules that no configuration changes
  std::string path;
  std::string rule;        ///< its name: `generated code`, `policy.effects.max_files`, `agents.bot`
  uint32_t line = 0;       ///< in galley.toml; 0 for rules that always apply
  std::string message;     ///< one sentence with rule, path and line
  std::string remedy;      ///< what to do
  bool is_denial = false;  ///< a capability denies it; false: only no capability gives it
};

/// The strictest result of `judge` for the names; the caller's when they are equal.
template <class Judge>
[[nodiscard]] Judgement strictest(const Principals& who, const Judge& judge) {
  Judgement worst = judge(who.caller());
  for (size_t i = 1; i < who.names().size(); ++i) {
    Judgement next = judge(who.names()[i]);
    if (next.decision > worst.decision) worst = std::move(next);
  }
  return worst;
}

/// `galley.toml:12`, or the file alone without a line.
[[nodiscard]] std::string place_in(const Config& config, uint32_t line);

/// The policy's result for a whole proposal.
struct PolicyReport {
  Decision decision = Decision::kAllow;  ///< the strictest of all
  std::vector<Judgement> judgements;     ///< those that are not kAllow, strictest first
};

/// The lines that `galley policy explain` prints.
struct Explanation {
  Judgement judgement;             ///< the decision and its cause
  std::vector<std::string> steps;  ///< every rule that matched, in order, for people
};

/// One failed expectation of a policy test file.
struct PolicyTestResult {
  size_t passed = 0;
  std::vector<Finding> failures;  ///< path is the test file, line that of the case
};

/// Path rules, effect rules and agents' capabilities of a Config, and the rules that always apply.
///
/// Always refused, whatever galley.toml says: protected directories (git's under other names too),
/// special files, setuid bits, and symbolic links that lead outside the workspace or into a
/// protected directory. Also refused are galley.toml itself unless
/// `Config::configuration_is_editable`, and for an agent the configuration of agents unless
/// `Config::agent_files_are_editable`. When several principals are judged together, the strictest
/// result counts.
/// Threads: immutable, safe to share; the Config must outlive it.
class Policy {
 public:
  explicit Policy(const Config& config) : config_(&config) {}

  /// Judges the real effects of a proposal, whatever asked for them.
  [[nodiscard]] Result<PolicyReport> judge(const ProposedTree& tree, const Principals& who) const;

  /// Judges one operation on one path before anything is staged: path rules, protected paths and
  /// capabilities only.
  [[nodiscard]] Judgement judge_path(const RelPath& path, PathOperation operation,
                                     const Principals& who) const;
  /// Judges writing a path by the profiles only, without the rules.
  [[nodiscard]] Judgement judge_write(const RelPath& path, PathOperation operation,
                                      const Principals& who) const;
  /// Whether they may read a path, run a program or use the network (`fs:read`, `exec`, `net`).
  [[nodiscard]] Judgement judge_read(const RelPath& path, const Principals& who) const;
  [[nodiscard]] Judgement judge_exec(std::string_view program, const Principals& who) const {
    return judge_exec(program, program, who);
  }
  /// The same for a program that is called through a link: a capability may name either path.
  [[nodiscard]] Judgement judge_exec(std::string_view program, std::string_view real,
                                     const Principals& who) const;
  [[nodiscard]] Judgement judge_network(const Principals& who) const;
  /// Whether they have a capability of an open domain that a tool needs. People have all of them.
  /// An agent has what its profile gives, or without a profile what was granted to it; `sec` is for
  /// people only. The judgement's id is `capability.missing`.
  [[nodiscard]] Judgement judge_capability(std::string_view needed, const Principals& who) const;
  /// Why a person cannot grant this to an agent: galley.toml denies it, or it is for people only.
  /// Errors: kRefused `grant.wider_than_configuration`.
  [[nodiscard]] std::optional<Error> objection_to_grant(std::string_view agent,
                                                        const Capability& capability) const;
  /// Whether a principal's profile or a revocation denies programs that another string gave.
  [[nodiscard]] bool denies_programs(const Principals& who) const;
  [[nodiscard]] Judgement judge_tool(std::string_view tool, const Principals& who) const;
  /// The same for an action of several tools: one of them in the list is enough. `what` is for the
  /// message, which names the first tool.
  [[nodiscard]] Judgement judge_tools(std::string_view what, const std::vector<std::string>& any_of,
                                      const Principals& who) const;
  /// Whether a profile limits the tools that they may use.
  [[nodiscard]] bool limits_tools(const Principals& who) const;
  /// The tool profile whose names this agent uses; empty: none.
  [[nodiscard]] std::string_view tool_profile(std::string_view agent) const;
  /// Whether a profile limits the paths that they may read: without one everything can be read.
  [[nodiscard]] bool limits_reading(const Principals& who) const;
  /// Whether the caller's profile explicitly gives the network and no other profile denies it;
  /// without a profile the network is not given.
  [[nodiscard]] bool grants_network(const Principals& who) const;

  [[nodiscard]] Explanation explain(const RelPath& path, PathOperation operation,
                                    std::string_view agent) const;

  /// Runs a table of expectations: `[[case]] path, operation, agent, expect` in TOML.
  /// Errors: kInvalid as parse_config's.
  [[nodiscard]] Result<PolicyTestResult> test(std::string_view toml, std::string_view file) const;

 private:
  [[nodiscard]] const AgentProfile* profile(std::string_view agent) const;
  /// The profile of this agent, if it limits capabilities.
  [[nodiscard]] const AgentProfile* bounds(std::string_view agent) const;
  [[nodiscard]] std::optional<Capability> newest_decision(std::string_view agent,
                                                          const Need& need) const;
  /// `what` names the need in a message.
  [[nodiscard]] Judgement judge_need(const Need& need, const std::string& what,
                                     const Principals& who) const;
  [[nodiscard]] Judgement judge_reading(const RelPath& path, const Principals& who) const;
  [[nodiscard]] std::optional<Judgement> judge_configuration(const RelPath& path) const;
  [[nodiscard]] Judgement judge_rules(const RelPath& path, PathOperation operation,
                                      std::string_view agent, bool is_directory) const;
  [[nodiscard]] std::optional<Judgement> judge_agent_files(const RelPath& path,
                                                           const Principals& who) const;
  [[nodiscard]] Result<void> judge_fixed_rules(const ProposedTree& tree, const Change& change,
                                               const Principals& who,
                                               std::vector<Judgement>& out) const;
  void judge_change(const ProposedTree& tree, const Change& change, std::string_view agent,
                    std::vector<Judgement>& out) const;

  const Config* config_;
};

}  // namespace galley
