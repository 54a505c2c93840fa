#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/policy/finding.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// The input of a validator: the tree to judge, and its limits.
struct ValidatorContext {
  const ProposedTree& tree;
  const Clock& clock;
  Deadline deadline;
  std::stop_token stop;
  [[nodiscard]] bool should_stop() const {
    return stop.stop_requested() || deadline.has_passed(clock);
  }
};

/// The result of a validator.
struct ValidatorReport {
  std::vector<Finding> findings;
  bool was_cached = false;
};

/// The reason of an Error if a validator needs a person's trust before it may run.
inline constexpr std::string_view kNotTrusted = "trust.needed";

/// Judges the proposed tree and returns findings; it never writes.
///
/// Threads: validate() may be called from any thread. Several validators may run at once, but each
///          has one call at a time.
/// Errors:  an Error means that the validator could not judge. The gate then refuses
///          (`gate.validator_unavailable`). A bad tree is a finding, not an Error.
class Validator {
 public:
  virtual ~Validator() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Whether this change set, for this agent, contains anything to judge.
  [[nodiscard]] virtual bool concerns(const ChangeSet& changes, const std::string& agent) const = 0;
  /// Whether it prepares a tree and runs a program in it, which takes long.
  [[nodiscard]] virtual bool runs_command() const { return false; }
  /// Judges the tree. Only findings of severity kError block a proposal.
  [[nodiscard]] virtual Result<ValidatorReport> validate(const ValidatorContext& context) = 0;
};

}  // namespace galley
