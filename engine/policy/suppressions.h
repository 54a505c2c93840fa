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

/// In a file with more bytes, comments suppress nothing.
inline constexpr size_t kMaxSuppressionFileBytes = size_t{16} << 20U;
/// The maximum number of suppressions in one file; further ones suppress nothing.
inline constexpr size_t kMaxSuppressions = 10'000;

/// A comment that suppresses findings of some rules: `galley:allow RULE[, RULE] -- REASON`. It
/// applies to its own line or, if the line has only the comment, to the next line.
struct Suppression {
  uint32_t line = 0;               ///< of the comment, from 1
  uint32_t covered_line = 0;       ///< the line whose findings it suppresses
  std::vector<std::string> rules;  ///< names of rules, or the parts before a dot
  std::string reason;              ///< printable; empty: no reason, so it suppresses nothing
  bool operator==(const Suppression&) const = default;
};

/// Returns the suppressions in a text.
[[nodiscard]] std::vector<Suppression> suppressions_in(std::string_view text);

/// Returns the suppressions in `after` that `before` does not have for a line with the same text.
/// So a comment that was moved to other code is new.
[[nodiscard]] std::vector<Suppression> added_suppressions(std::string_view before,
                                                          std::string_view after);

/// The suppressions that apply to one proposal.
///
/// A suppression cannot suppress a finding of the policy. It can suppress findings of `secrets.*`
/// only if galley.toml allows it, because the author of a change also controls its comments.
///
/// Ownership: borrows the tree and the configuration.
/// Threads:   confined to one thread.
class Suppressions {
 public:
  Suppressions(const FindingsConfig& config, const ProposedTree& tree)
      : config_(&config), tree_(&tree) {}

  /// Judges the suppressions that the change adds: a judgement for each suppression with a reason,
  /// a finding for each one without.
  /// Errors: those of reading the changed files.
  [[nodiscard]] Result<void> judge_added(std::vector<Judgement>& judgements,
                                         std::vector<Finding>& findings) const;

  /// Turns a finding into a note if a comment suppresses it.
  void apply(Finding& finding);

 private:
  [[nodiscard]] const std::vector<Suppression>& of_file(const std::string& path);

  const FindingsConfig* config_;
  const ProposedTree* tree_;
  std::map<std::string, std::vector<Suppression>> known_;
};

}  // namespace galley
