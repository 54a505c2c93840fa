#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "engine/policy/verdict_file.h"

namespace galley {

/// Returns the subject of a verdict: this change, under these rules, judged by this program.
[[nodiscard]] JudgedSubject verdict_subject(const Proposal& proposal, const Config& config,
                                            std::string_view rules);

/// The same for a proposal to the workspace of the session.
[[nodiscard]] Result<JudgedSubject> verdict_subject(Session& session, const Proposal& proposal);

/// Writes the file of --verdict, if the option is given.
Result<void> write_verdict(Session& session, const JudgedSubject& subject, const Verdict& verdict);

/// --verify: reads the decision from a verdict file instead of asking the gate. Returns 0 if it
/// approves, 1 if it refuses. A file about another subject, or not signed by --key, is an Error.
Result<int> verify_verdict(Session& session, const JudgedSubject& subject);

}  // namespace galley
