#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/terminal.h"
#include "engine/commit/outcome.h"
#include "engine/policy/gate.h"
#include "staging/overlay/proposal.h"
#include "staging/printing/git_diff.h"

namespace galley {

/// How the lines of a diff are chosen and shown, as the options ask.
[[nodiscard]] DiffOptions file_options(const DiffArguments& arguments, const Paper& paper);

/// The proposal as the diff options ask: a diff, --stat, --numstat or --name-status.
Result<std::string> render_changes(const Proposal& proposal, const DiffArguments& arguments,
                                   const Paper& paper);

/// The exact diff, never coloured or cut: what `--json` carries.
Result<std::string> exact_diff(const Proposal& proposal);

/// The verdict for people: findings grouped by path, then one line that says yes or no and why.
[[nodiscard]] std::string verdict_text(const Verdict& verdict, bool has_color,
                                       const Hyperlinks* links = nullptr);

[[nodiscard]] std::string conflict_text(const Conflict& conflict);

/// What both sides did to one path: the lines that both changed, side by side, else the diff of
/// what changed meanwhile. `wanted` is the word for our side.
[[nodiscard]] std::string sides_text(const std::vector<ConflictHunk>& hunks,
                                     const std::string& diff, std::string_view wanted);

/// git's line of totals, with its newline; empty when no file differs.
Result<std::string> summary_line(const Proposal& proposal);

}  // namespace galley
