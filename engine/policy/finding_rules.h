#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy/baseline.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/suppressions.h"

namespace galley {

/// Paths of one proposal for which one of the owners must approve.
struct OwnedPaths {
  std::string first;
  size_t count = 0;
  std::vector<std::string> owners;
};

/// Applies `[findings]` and `[owners]` to one proposal: which findings pass, and who is asked.
///
/// Everything is read from the unchanged tree, except the comments themselves.
/// Ownership: borrows the configuration and the tree. Threads: confined to one thread.
class FindingRules {
 public:
  /// Errors: kInvalid `baseline.syntax`, `owners.syntax`.
  [[nodiscard]] static Result<FindingRules> of(const Config& config, const ProposedTree& tree);

  /// Adds judgements that need approval to the report, and those that only inform to the findings.
  [[nodiscard]] Result<void> judge(PolicyReport& report, std::vector<Finding>& findings) const;

  /// Turns findings of validators that a comment or the baseline covers into notes.
  void apply(const std::vector<Finding*>& findings);

  /// A sentence about the first owned paths whose owners do not include the approver `by`; empty
  /// when there are none.
  [[nodiscard]] std::string missing_owner(const std::string& by) const;

 private:
  FindingRules(const Config& config, const ProposedTree& tree)
      : config_(&config), tree_(&tree), suppressions_(config.findings, tree) {}
  [[nodiscard]] Result<void> find_owners();

  const Config* config_;
  const ProposedTree* tree_;
  Suppressions suppressions_;
  Baseline baseline_;
  std::vector<OwnedPaths> owned_;
};

/// A hash for each finding that stays the same when lines move: of its rule, path, message, and the
/// number of earlier findings with the same three. SARIF calls it a partial fingerprint.
[[nodiscard]] std::vector<std::string> fingerprints_of(const std::vector<Finding>& findings);

}  // namespace galley
