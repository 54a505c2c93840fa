#pragma once

#include <galley/tool.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"

namespace galley {

using CallQuestion = CallOptions::Question;

/// Whether a tool may be called, whatever its arguments are.
struct CallRule {
  Decision decision = Decision::kAllow;
  /// The overlay holds all effects of the call, and they can be reverted. If a handler of questions
  /// is connected, it is asked; otherwise the commit is the approval (docs/adr/0081).
  bool is_held_by_overlay = false;
  std::string why;  ///< the reason, as a sentence, for the question or the refusal
};

/// Returns the rule for a tool in a mode. It depends on its tier (security_mode.h), its risk and
/// its own declarations. Tools that only read are not exempt.
[[nodiscard]] CallRule rule_for_call(SecurityMode mode, const ToolInfo& tool);

/// The store of approvals that were given before the call, and of questions that wait for an
/// answer.
///
/// Errors: those of the store.
class ApprovalStore {
 public:
  virtual ~ApprovalStore() = default;
  /// Removes the approval of this call and returns the name of the person who gave it; nullopt if
  /// there is none.
  virtual Result<std::optional<std::string>> take(const ContentId& id, int64_t now_ns) const = 0;
  /// Stores the question until a person answers it.
  virtual Result<void> keep(const ContentId& id, const CallQuestion& question,
                            int64_t now_ns) const = 0;
};

/// The caller, the handler of questions, and the store of earlier approvals. Borrows all of them.
struct ConfirmationContext {
  SecurityMode mode = SecurityMode::kStandard;
  Principals who;
  const CallOptions* call = nullptr;       ///< its `confirm` answers questions; never null
  const Clock* clock = nullptr;            ///< never null
  bool keeps_nothing = false;              ///< a dry run or a preview
  const ApprovalStore* answers = nullptr;  ///< null: nothing can be stored
  Recorder* recorder = nullptr;  ///< records an approval before it is used; null: not recorded
};

/// Returns an error if a call of a tool must not run. Other actions are always allowed.
/// Errors: kRefused `call.tier_denied`, `call.needs_confirmation` (its message has the id for
///         `galley approve`), `call.not_confirmed`; those of the handler that answers.
[[nodiscard]] std::optional<Error> confirm_call(const Action& action,
                                                const ConfirmationContext& context);

/// Hashes all inputs that decide the effect of a call: principals, tool and version, arguments,
/// working directory and environment.
[[nodiscard]] ContentId id_of_call(const Action& action, const ConfirmationContext& context);
/// The id as messages and `galley approve` show it: `call-` and the first digits.
[[nodiscard]] std::string shown_call_id(const ContentId& id);
inline constexpr std::string_view kCallIdStart = "call-";

/// An Error with this reason means that the answer to a question has not arrived yet. The call does
/// nothing and leaves no record, because it was not refused.
inline constexpr std::string_view kUnanswered = "call.unanswered";

/// A call with larger arguments is not stored for a later answer, since a person could not read
/// them.
inline constexpr size_t kMaxAskedArgumentBytes = size_t{64} << 10U;

}  // namespace galley
