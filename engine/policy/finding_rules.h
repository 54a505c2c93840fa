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

/// Paths of one proposal of which one of the owners must say yes.
struct OwnedPaths {
  std::string first;
  size_t count = 0;
  std::vector<std::string> owners;
};

/// What `[findings]` and `[owners]` say about one proposal: which findings pass, and who is asked.
///
/// All of it is read from the unchanged tree but for the comments themselves.
/// Ownership: borrows the configuration and the tree. Threads: confined to one thread.
class FindingRules {
 public:
  /// Errors: kInvalid `baseline.syntax`, `owners.syntax`.
  [[nodiscard]] static Result<FindingRules> of(const Config& config, const ProposedTree& tree);

  /// Adds what must be asked to the report, and what is only told to the findings.
  [[nodiscard]] Result<void> judge(PolicyReport& report, std::vector<Finding>& findings) const;

  /// Makes notes of the validators' findings that a comment or the baseline lets pass.
  void apply(const std::vector<Finding*>& findings);

  /// Of whom no one is among those who said yes: the sentence about the first; empty when all are.
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

/// For each finding a hash that stays when lines move: of its rule, path and message, and how many
/// with the same three stand before it. SARIF calls this a partial fingerprint.
[[nodiscard]] std::vector<std::string> fingerprints_of(const std::vector<Finding>& findings);

}  // namespace galley
