#pragma once

#include <galley/tool.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/content_id.h"
#include "base/result.h"
#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/policy/config.h"
#include "engine/policy/principals.h"

namespace galley {

using CallQuestion = CallOptions::Question;

/// What has to be asked before a tool is called, whatever its arguments.
struct CallRule {
  Decision decision = Decision::kAllow;
  /// The overlay holds all that the call does and it can be taken back, so that nobody has to be
  /// there: who answers is asked, and where nobody does the commit is the yes (docs/adr/0081).
  bool is_held_by_overlay = false;
  std::string why;  ///< a sentence for whoever is asked or refused
};

/// The rule for a tool in a mode: by its tier (security_mode.h), its risk and what it says of
/// itself. That a tool only reads exempts it from none of them.
[[nodiscard]] CallRule rule_for_call(SecurityMode mode, const ToolInfo& tool);

/// Where a yes that was given beforehand is kept, and questions wait for one.
///
/// Errors: its store's.
class KeptAnswers {
 public:
  virtual ~KeptAnswers() = default;
  /// Uses up a yes to the call of this id and tells who gave it; nothing when there is none.
  virtual Result<std::optional<std::string>> take(const ContentId& id, int64_t now_ns) const = 0;
  /// Keeps the question until somebody answers it.
  virtual Result<void> keep(const ContentId& id, const CallQuestion& question,
                            int64_t now_ns) const = 0;
};

/// Who calls, who answers, and where a yes that was given beforehand is kept. Borrows all of it.
struct ConfirmationDesk {
  SecurityMode mode = SecurityMode::kStandard;
  Principals who;
  const CallOptions* call = nullptr;     ///< whose `confirm` answers; never null
  const Clock* clock = nullptr;          ///< never null
  bool keeps_nothing = false;            ///< a dry run or a preview
  const KeptAnswers* answers = nullptr;  ///< null: nothing can be kept
  Recorder* recorder = nullptr;          ///< of a yes, before it counts; null: none
};

/// Nothing when a call of a tool may run; every other action may.
/// Errors: kRefused `call.tier_denied`, `call.needs_confirmation` (its message names the id that
///         `galley approve` takes), `call.not_confirmed`; those of whoever answers.
[[nodiscard]] std::optional<Error> confirm_call(const Action& action, const ConfirmationDesk& desk);

/// Names a call by everything that decides what it does: who asks, tool and version, arguments,
/// working directory and environment.
[[nodiscard]] ContentId id_of_call(const Action& action, const ConfirmationDesk& desk);
/// As messages and `galley approve` have it: `call-` and the first digits.
[[nodiscard]] std::string shown_call_id(const ContentId& id);
inline constexpr std::string_view kCallIdStart = "call-";

/// An Error with this reason means that the answer to a question has not arrived yet. The call does
/// nothing and leaves no record, because it was not refused.
inline constexpr std::string_view kUnanswered = "call.unanswered";

/// Arguments beyond this are not kept for an answer later: nobody could read them.
inline constexpr size_t kMaxAskedArgumentBytes = size_t{64} << 10U;

}  // namespace galley
