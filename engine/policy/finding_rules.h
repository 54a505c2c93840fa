#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/suppressions.h"
#include "staging/fs/directory.h"

namespace galley {

/// A baseline with more bytes is refused.
inline constexpr size_t kMaxBaselineBytes = size_t{64} << 20U;

/// The format of baselines.
inline constexpr std::string_view kBaselineSchema = "galley.baseline/2";

/// The text in Finding::suppression of a finding that is in the baseline.
inline constexpr std::string_view kBaselineSuppression = "known in the baseline";

/// A list of older findings, which become notes and block nothing. It is a JSON file
/// (docs/validators.md). Galley reads it from the unchanged tree, so a proposed change of the file
/// applies only after its commit.
class Baseline {
 public:
  /// Loads the baseline at a path of the workspace; a missing file is an empty baseline.
  /// Errors: kInvalid `baseline.syntax`.
  [[nodiscard]] static Result<Baseline> load(const Directory& workspace, const std::string& path);
  [[nodiscard]] static Result<Baseline> parse(std::string_view text, std::string_view file);

  /// Turns findings whose fingerprints are in the baseline into notes.
  void apply(const std::vector<Finding*>& findings) const;

  [[nodiscard]] size_t size() const { return known_.size(); }
  /// Whether it is of an earlier version, of which nothing counts.
  [[nodiscard]] bool is_old() const { return is_old_; }

 private:
  std::set<std::string, std::less<>> known_;
  bool is_old_ = false;
};

/// Paths of one proposal that have the same owners. One of the owners must approve.
struct OwnedPaths {
  std::string first;
  size_t count = 0;
  std::vector<std::string> owners;
};

/// Applies `[findings]` and `[owners]` to one proposal: suppresses findings, and decides who must
/// approve. Baseline and owners are read from the unchanged tree, comments from the proposed tree.
///
/// Ownership: borrows the configuration and the tree.
/// Threads:   confined to one thread.
class FindingRules {
 public:
  /// Errors: kInvalid `baseline.syntax`, `owners.syntax`.
  [[nodiscard]] static Result<FindingRules> of(const Config& config, const ProposedTree& tree);

  /// Adds judgements that need an approval to `report`, and judgements that only inform to
  /// `findings`.
  [[nodiscard]] Result<void> judge(PolicyReport& report, std::vector<Finding>& findings) const;

  /// Gives findings of validators their fingerprints, and turns those that a comment or the
  /// baseline suppresses into notes.
  void apply(const std::vector<Finding*>& findings);

  /// Returns a sentence about the first owned paths whose owners include none of the approvers
  /// `by`; empty if there are no such paths.
  [[nodiscard]] std::string missing_owner(const std::vector<std::string>& by) const;

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

/// Sets the fingerprints of findings that have none. The text of a line is that of the proposed
/// tree, without white space at its ends; without a tree no line counts.
void set_fingerprints(const std::vector<Finding*>& findings, const ProposedTree* tree);

}  // namespace galley
