#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/gate.h"

namespace galley {

/// Asks a person for a decision that no program may make: `trust`, `approve` and `recover --adopt`.
/// A program that reads "run galley trust" must not be able to do it.
///
/// Shows `diff` as far as it fits, then `text` (escaped by the caller, with its last newline), and
/// asks `question` at the controlling terminal. Only `y` or `yes` is a yes; `d` shows the whole
/// diff. With `unattended = true` in the personal configuration the question is skipped.
/// Errors: kRefused `person.inside_exec` in a command that Galley runs, `person.agent` with
///         --agent, `person.no_terminal`, `person.said_no`.
Result<void> require_person(Session& session, const std::string& text, const std::string& question,
                            const std::string& diff = {});

/// Returns the changes of a proposal for a question: every character visible, in colour if stderr
/// is.
Result<std::string> diff_on_screen(Session& session, const Proposal& proposal);

/// Whether this process may be inside a command that Galley runs. Either of two signs is enough,
/// because a command can unset the variable.
[[nodiscard]] bool may_be_inside_exec();

/// Refuses an action of a person inside a command that Galley runs.
/// Errors: kRefused `person.inside_exec`.
Result<void> refuse_inside_exec(const std::string& command);

/// Refuses an action of a person with --agent, unless it is a dry run. `why` is the message.
/// Errors: kRefused `person.agent`.
Result<void> refuse_to_agents(const Arguments& arguments, const std::string& why);

/// Returns an approver that asks at the controlling terminal whether to commit. It shows the diff
/// as far as it fits, then the rules that ask; `d` shows the whole diff. Without a terminal it
/// cannot ask, which the gate treats as a no. Piped input is not accepted as an answer, since it
/// may come from an agent.
/// Ownership: borrows the session.
[[nodiscard]] Approver approver_at_terminal(Session& session);

/// Returns a function that asks in the same way about a call; empty if no person can be asked.
[[nodiscard]] std::function<Result<bool>(const CallOptions::Question&)> confirmer_at_terminal(
    Session& session);

/// Returns a call that waits for an approval, for a person to read, with every character visible.
[[nodiscard]] std::string shown_call(const CallOptions::Question& question);

/// Whether a person trusted this hash in advance, outside of every workspace.
[[nodiscard]] bool is_trusted_in_advance(const UserSettings& user, const ContentId& hash);

/// How many digits of a proposal's id a question shows.
inline constexpr size_t kShownProposalDigits = 12;

}  // namespace galley
