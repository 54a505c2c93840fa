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

/// The input of a validator: a tree to look at, and its limits.
struct ValidatorContext {
  const ProposedTree& tree;
  const Clock& clock;
  Deadline deadline;
  std::stop_token stop;
  [[nodiscard]] bool should_stop() const {
    return stop.stop_requested() || deadline.has_passed(clock);
  }
};

struct ValidatorReport {
  std::vector<Finding> findings;
  bool was_cached = false;
};

/// The reason of an Error of a validator that needs a person's trust before it may run.
inline constexpr std::string_view kNotTrusted = "trust.needed";

/// Judges the proposed tree and returns findings; it never writes.
///
/// Threads: validate() may be called from any thread, several validators side by side, one call
///          at a time each.
/// Errors:  an Error means that it could not judge, which the gate treats as a refusal (reason
///          `gate.validator_unavailable`); a bad tree is a finding, not an Error.
class Validator {
 public:
  virtual ~Validator() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Whether this change set, for this agent, contains anything to judge.
  [[nodiscard]] virtual bool concerns(const ChangeSet& changes, const std::string& agent) const = 0;
  /// Whether it prepares a tree and runs a program there, which takes long.
  [[nodiscard]] virtual bool runs_command() const { return false; }
  /// Findings of kError block; the gate ignores all others.
  [[nodiscard]] virtual Result<ValidatorReport> validate(const ValidatorContext& context) = 0;
};

}  // namespace galley
