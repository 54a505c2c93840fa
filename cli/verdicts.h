#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/verdict_file.h"

namespace galley {

/// What a verdict of --verdict is about: this change under these rules, by this program.
[[nodiscard]] JudgedSubject judged_subject(const Proposal& proposal, const Config& config,
                                           std::string_view rules);

/// The same for a proposal to the workspace of the session.
[[nodiscard]] Result<JudgedSubject> judged_subject(Session& session, const Proposal& proposal);

/// Writes the file of --verdict; nothing without that option.
Result<void> write_verdict(Session& session, const JudgedSubject& subject, const Verdict& verdict);

/// --verify: takes the answer from a verdict file instead of asking the gate. 0 for a yes, 1 for a
/// no; a file about something else, or not signed by --key, is an Error.
Result<int> verify_verdict(Session& session, const JudgedSubject& subject);

}  // namespace galley
