#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/terminal.h"
#include "engine/commit/outcome.h"
#include "engine/policy/gate.h"
#include "staging/overlay/change_set.h"
#include "staging/printing/git_diff.h"

namespace galley {

/// Returns the options for selecting and showing the lines of a diff.
[[nodiscard]] DiffOptions file_options(const DiffArguments& arguments, const OutputStyle& style);

/// Returns a diff, --stat, --numstat or --name-status of a proposal.
Result<std::string> render_changes(const Proposal& proposal, const DiffArguments& arguments,
                                   const OutputStyle& style);

/// Returns the list of --name-status.
Result<std::string> render_names(const Proposal& proposal);

/// Returns the exact diff for `--json`, without colours or cuts.
Result<std::string> exact_diff(const Proposal& proposal);

/// Returns the verdict for people: findings grouped by path, then one line with the decision and
/// the reason.
[[nodiscard]] std::string verdict_text(const Verdict& verdict, bool has_color,
                                       const Hyperlinks* links = nullptr);

[[nodiscard]] std::string conflict_text(const Conflict& conflict,
                                        std::string_view end = "nothing was committed");

/// Returns the changes of both sides to one path: the lines that both changed, side by side, or the
/// diff of the other side. `wanted` is the name of our side.
[[nodiscard]] std::string sides_text(const std::vector<ConflictHunk>& hunks,
                                     const std::string& diff, std::string_view wanted);

}  // namespace galley
