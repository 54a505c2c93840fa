#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/session.h"
#include "engine/check/git_check.h"
#include "engine/pipeline/transaction_state.h"

namespace galley {

/// Returns one line per file of a change: "staged README.md (+1 -1)".
Result<std::string> staged_text(const Proposal& change);

/// Prints the changes since `before`, one line per file. With --json it adds `changes`, `diff` and
/// the `proposal` of the whole transaction to `document` and prints it.
Result<void> show_staged(Session& session, Transaction& transaction, const Overlay::Entries& before,
                         Json& document);

/// Prints a warning if actions without an effect could not be recorded, also with --json.
void warn_of_unrecorded(Session& session, Transaction& transaction);

/// Whether a word is a range of commits, `A..B` or `A...B`, and not a path. In a path `..` is a
/// whole component, and the names of git's references cannot contain it.
[[nodiscard]] bool is_range(std::string_view word);

/// Returns the sides of `A..B` or `A...B`; an empty side is HEAD.
/// Errors: kUsage `check.bad_range`.
[[nodiscard]] Result<CheckSource> range_source(const std::string& range);

/// Opens the change that a command judges, with the options of the session.
[[nodiscard]] Result<std::unique_ptr<GitCheck>> open_check(Session& session,
                                                           const CheckSource& source);

/// Runs the validators with `fix = true` on the staged files and stages their fixes. Prints what
/// they changed, or adds it to `document` as `fix`.
Result<void> stage_fixes(Session& session, Transaction& transaction, Json& document);

}  // namespace galley
