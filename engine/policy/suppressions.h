#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// A file with more bytes has no suppressions.
inline constexpr size_t kMaxSuppressionFileBytes = size_t{16} << 20U;
/// Suppressions of one file that are looked at; the rest suppress nothing.
inline constexpr size_t kMaxSuppressions = 10'000;

/// A comment that lets findings of some rules pass: `galley:allow RULE[, RULE] -- REASON`. It holds
/// for its own line or, when nothing but the comment stands there, for the next one.
struct Suppression {
  uint32_t line = 0;               ///< of the comment, from 1
  uint32_t covered_line = 0;       ///< whose findings it lets pass
  std::vector<std::string> rules;  ///< a rule, or what it begins with before a dot
  std::string reason;              ///< printable; empty: none was given, and it suppresses nothing
  bool operator==(const Suppression&) const = default;
};

[[nodiscard]] std::vector<Suppression> suppressions_in(std::string_view text);

/// Those of `after` that `before` does not have for a line of the same text: a comment that was
/// moved to other code is a new one.
[[nodiscard]] std::vector<Suppression> added_suppressions(std::string_view before,
                                                          std::string_view after);

/// The suppressions that bear on one proposal.
///
/// No suppression lets a finding of the policy pass, and one of the rules `secrets.*` only where
/// galley.toml says so: who is judged writes the comments, too.
/// Ownership: borrows the tree and the configuration.
/// Threads:   confined to one thread.
class Suppressions {
 public:
  Suppressions(const FindingsConfig& config, const ProposedTree& tree)
      : config_(&config), tree_(&tree) {}

  /// What the change adds: a judgement for each that has a reason, a finding for each that has none.
  /// Errors: those of reading the changed files.
  [[nodiscard]] Result<void> judge_added(std::vector<Judgement>& judgements,
                                         std::vector<Finding>& findings) const;

  /// Makes a note of a finding that a comment lets pass.
  void apply(Finding& finding);

 private:
  [[nodiscard]] const std::vector<Suppression>& of_file(const std::string& path);

  const FindingsConfig* config_;
  const ProposedTree* tree_;
  std::map<std::string, std::vector<Suppression>> known_;
};

}  // namespace galley
