#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/session.h"
#include "engine/check/git_check.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

/// One line a file of what a change does: "staged README.md (+1 -1)".
Result<std::string> staged_text(const Proposal& change);

/// What was staged since `before`: a line a file, or `changes`, `diff` and the whole transaction's
/// `proposal` in `document`, which is then printed.
Result<void> show_staged(Session& session, Transaction& transaction, const Overlay::Entries& before,
                         Json& document);

/// Whether a word is a range of commits, `A..B` or `A...B`, and no path: a path has its dots
/// between slashes, and no name of git's has two of them.
[[nodiscard]] bool is_range(std::string_view word);

/// The sides of `A..B` or `A...B`; an empty side is HEAD.
/// Errors: kUsage `check.bad_range`.
[[nodiscard]] Result<CheckSource> range_source(const std::string& range);

/// Opens what a command judges, with the options of the session.
[[nodiscard]] Result<std::unique_ptr<GitCheck>> open_check(Session& session,
                                                           const CheckSource& source);

}  // namespace galley
