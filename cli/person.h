#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/gate.h"

namespace galley {

/// What a person has to say: `trust`, `approve` and `recover --adopt`. A program that reads "run
/// galley trust" must not be able to say it.
///
/// Shows `text` (escaped by the caller, with its last newline) and asks `question` at the
/// controlling terminal; only `y` or `yes` is a yes. A `diff` stands before it, as far as it fits,
/// and `d` shows all of it. With `unattended = true` in the person's own
/// configuration nobody is asked.
/// Errors: kRefused `person.inside_exec` in a command that Galley runs, `person.no_terminal`,
///         `person.said_no`.
Result<void> need_person(Session& session, const std::string& text, const std::string& question,
                         const std::string& diff = {});

/// What a proposal changes, as a question shows it: every character visible, coloured as stderr is.
Result<std::string> diff_on_screen(Session& session, const Proposal& proposal);

/// A person's word or work, refused inside a command that Galley runs.
/// Errors: kRefused `person.inside_exec`.
Result<void> refuse_inside_exec(const std::string& command);

/// Asks at the controlling terminal whether to commit: the diff first, as far as it fits, then the
/// rules that ask; `d` shows all of it once more. With no terminal there is nobody to ask, which
/// the gate takes as a no. What is piped into us is no answer: it may be an agent's.
/// Ownership: borrows the session.
[[nodiscard]] Approver approver_at_terminal(Session& session);

/// The same for a call that needs a yes; empty where there is nobody.
[[nodiscard]] std::function<Result<bool>(const CallOptions::Question&)> confirmer_at_terminal(
    Session& session);

/// A call that waits for a yes, as a person reads it, every character visible.
[[nodiscard]] std::string shown_call(const CallOptions::Question& question);

/// Whether a person said yes to this hash beforehand, outside of every workspace.
[[nodiscard]] bool is_vouched_for(const UserSettings& user, const ContentId& hash);

/// Digits of a proposal's id that a question shows.
inline constexpr size_t kShownProposalDigits = 12;

}  // namespace galley
