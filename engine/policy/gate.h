#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <galley/verdict.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/validator.h"

namespace galley {

using ApprovalAnswer = ApprovalQuestion::Answer;
using GateProgress = Verdict::Progress;
using ValidatorRun = Verdict::Run;

class FindingRules;

/// Finding::suppression of findings in GateRequest::accepted.
inline constexpr std::string_view kReturnedSuppression = "it comes back with an undo";

/// The principals of a judgement, and its limits.
struct GateRequest {
  Principals who;
  Deadline deadline;                     ///< of the whole judgement; validators also have timeouts
  std::stop_token stop;                  ///< cancels the validators; the result is then an Error
  std::vector<ContentId> approved;       ///< proposals that a person approved in advance
  std::vector<std::string> approved_by;  ///< the persons who approved them, if known
  std::vector<RelPath> accepted;  ///< sorted; notes are findings here, or any if these are all
  std::function<void(const GateProgress&)> on_progress;
  size_t max_parallel = 0;  ///< 0: the configured number, else the number of cores
};

/// Policy and validators together. Only a Gate makes Approvals.
///
///     policy, suppressions, owners -> deny: Refusal (validators do not run)
///            -> allow | ask -> validators in parallel -> a kError finding or an Error: Refusal
///                                                     -> ask: approver -> yes: Approval
///                                                                      -> no: Refusal
///
/// Invariant: an Approval names the proposal that was judged. A proposal that cannot be judged is
///            refused.
/// Ownership: borrows the Config and the Clock; owns the validators.
/// Threads:   one thread at a time calls judge(), which runs validators on other threads.
/// Errors:    a refusal is a Verdict. An Error means that the judgement was cancelled (kTimeout
///            `gate.cancelled`), or that the proposal cannot be read.
class Gate {
 public:
  Gate(const Config& config, std::vector<std::unique_ptr<Validator>> validators, Approver approver,
       const Clock& clock);

  [[nodiscard]] Result<Verdict> judge(const ProposedTree& tree, const GateRequest& request);

  [[nodiscard]] const Policy& policy() const { return policy_; }

 private:
  [[nodiscard]] Result<std::optional<Refusal>> run_validators(const ProposedTree& tree,
                                                              const GateRequest& request,
                                                              FindingRules& rules,
                                                              Verdict& verdict);
  [[nodiscard]] Result<Verdict> ask(const ProposedTree& tree, const GateRequest& request,
                                    const PolicyReport& report, const FindingRules& rules,
                                    Verdict verdict) const;

  const Config* config_;
  Policy policy_;
  std::vector<std::unique_ptr<Validator>> validators_;
  Approver approver_;
  const Clock* clock_;
};

/// The error of a judgement that its caller has cancelled.
[[nodiscard]] Error judging_cancelled();

}  // namespace galley
