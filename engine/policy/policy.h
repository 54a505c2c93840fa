#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Whether a list of agent names (`*` and `?` match) takes this agent in; an empty one takes all.
[[nodiscard]] bool names_agent(const std::vector<std::string>& patterns, std::string_view agent);

/// What a rule decided about one path or about the whole change (empty path).
struct Judgement {
  Decision decision = Decision::kAllow;
  std::string id;  ///< stable dotted name: `policy.path`, `policy.effect`, `policy.capability`,
                   ///< `policy.always` for what holds whatever the configuration says
  std::string path;
  std::string rule;     ///< its name: `generated code`, `policy.effects.max_files`, `agents.bot`
  uint32_t line = 0;    ///< in galley.toml; 0 for what always holds
  std::string message;  ///< one sentence with rule, path and line
  std::string remedy;   ///< what to do
};

/// The policy's answer to a whole proposal.
struct PolicyReport {
  Decision decision = Decision::kAllow;  ///< the strictest of all
  std::vector<Judgement> judgements;     ///< those that are not kAllow, strictest first
};

/// The line that `galley policy explain` prints for each rule it looked at.
struct Explanation {
  Judgement judgement;             ///< the decision and what made it
  std::vector<std::string> steps;  ///< every rule that matched, in order, for people
};

/// One failed expectation of a policy test file.
struct PolicyTestResult {
  size_t passed = 0;
  std::vector<Finding> failures;  ///< path is the test file, line that of the case
};

/// Path rules, effect rules and agents' capabilities of a Config, and the rules that always hold.
///
/// Always refused, whatever the configuration says: protected directories, symbolic links that
/// lead outside the workspace or into a protected directory, special files, setuid bits.
/// Threads: immutable, safe to share; the Config must outlive it.
class Policy {
 public:
  explicit Policy(const Config& config) : config_(&config) {}

  /// Judges what a proposal really does, whoever or whatever asked for it.
  [[nodiscard]] Result<PolicyReport> judge(const ProposedTree& tree, std::string_view agent) const;

  /// Judges one operation on one path before anything is staged: path rules, protected paths and
  /// capabilities only.
  [[nodiscard]] Judgement judge_path(const RelPath& path, Operation operation,
                                     std::string_view agent) const;
  /// Whether an agent may read a path, run a program, reach the network (`fs:read`, `exec`, `net`).
  [[nodiscard]] Judgement judge_read(const RelPath& path, std::string_view agent) const;
  [[nodiscard]] Judgement judge_exec(std::string_view program, std::string_view agent) const;
  [[nodiscard]] Judgement judge_network(std::string_view agent) const;
  [[nodiscard]] Judgement judge_tool(std::string_view tool, std::string_view agent) const;
  /// Whether a profile bounds what the agent may read: without one everything can be read.
  [[nodiscard]] bool limits_reading(std::string_view agent) const;
  /// Whether a profile gives the network in so many words; without a profile nothing does.
  [[nodiscard]] bool grants_network(std::string_view agent) const;

  [[nodiscard]] Explanation explain(const RelPath& path, Operation operation,
                                    std::string_view agent) const;

  /// Runs a table of expectations: `[[case]] path, operation, agent, expect` in TOML.
  /// Errors: kInvalid as parse_config's.
  [[nodiscard]] Result<PolicyTestResult> test(std::string_view toml, std::string_view file) const;

 private:
  [[nodiscard]] const AgentProfile* profile(std::string_view agent) const;
  [[nodiscard]] Judgement judge_rules(const RelPath& path, Operation operation,
                                      std::string_view agent, bool is_directory) const;
  [[nodiscard]] Judgement judge_write_capability(const RelPath& path, Operation operation,
                                                 std::string_view agent) const;
  void judge_change(const ProposedTree& tree, const Change& change, std::string_view agent,
                    std::vector<Judgement>& out) const;

  const Config* config_;
};

}  // namespace galley
