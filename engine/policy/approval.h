#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/content_id.h"
#include "engine/policy/finding.h"

namespace galley {

/// The gate's yes to one proposal; only a Gate can make one, and Publisher takes nothing else.
class Approval {
 public:
  [[nodiscard]] const ContentId& proposal() const { return proposal_; }

 private:
  friend class Gate;
  friend struct ApprovalForTests;  ///< defined nowhere but in tests
  explicit Approval(const ContentId& proposal) : proposal_(proposal) {}
  ContentId proposal_;
};

/// The gate's no.
struct Refusal {
  std::string reason;   ///< stable dotted word: `gate.policy_denied`, `gate.validator_failed`,
                        ///< `gate.validator_unavailable`, `gate.approval_missing`
  std::string message;  ///< one sentence: which rule, which path, what to do
};

/// One validator's turn, for people and for the record.
struct ValidatorRun {
  std::string name;
  enum class Outcome : uint8_t { kPassed, kFindings, kUnavailable } outcome = Outcome::kPassed;
  size_t findings = 0;
  int64_t elapsed_ms = 0;
  bool was_cached = false;
  std::string reason;   ///< of the Error when it could not run
  std::string message;  ///< why it could not run
};

/// What the gate answers, with everything the rules and validators found (also on a yes).
struct Verdict {
  std::variant<Approval, Refusal> decision;
  std::vector<Finding> findings;
  std::vector<ValidatorRun> runs;  ///< in the order of the configuration
  std::string approved_by;         ///< who said yes where a rule asked; empty otherwise
  [[nodiscard]] bool is_approved() const { return std::holds_alternative<Approval>(decision); }
};

}  // namespace galley
