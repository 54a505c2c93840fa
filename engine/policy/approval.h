#pragma once

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
  explicit Approval(const ContentId& proposal) : proposal_(proposal) {}
  ContentId proposal_;
};

/// The gate's no.
struct Refusal {
  std::string reason;   ///< stable dotted word: `gate.policy_denied`, `gate.validator_failed`,
                        ///< `gate.validator_unavailable`, `gate.approval_missing`
  std::string message;  ///< one sentence: which rule, which path, what to do
};

/// What the gate answers, with everything the rules and validators found (also on a yes).
struct Verdict {
  std::variant<Approval, Refusal> decision;
  std::vector<Finding> findings;
  [[nodiscard]] bool is_approved() const { return std::holds_alternative<Approval>(decision); }
};

}  // namespace galley
