#pragma once

#include <optional>

#include "base/result.h"
#include "cli/session.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/transaction_state.h"
#include "staging/overlay/proposal.h"
#include "staging/printing/hyperlinks.h"

namespace galley {

/// The part of a proposal that the calling agent may see.
Result<ReadablePart> part_for_caller(Session& session, const Proposal& proposal);

/// Links to the files of the workspace, where --hyperlinks and the terminal have them.
Result<std::optional<Hyperlinks>> links_to_files(Session& session);

/// Prints what a proposal changes as the options ask; on stderr a line for each file that the
/// calling agent may not read, whose contents are left out. `heading` stands before it all.
Result<void> print_changes(Session& session, const Proposal& proposal,
                           const DiffArguments& arguments, const std::string& heading = {});

/// The diff as the calling agent may see it, and a line for each file that was left out.
Result<std::string> diff_for_caller(Session& session, const Proposal& proposal, const Paper& paper);

/// Puts the exact diff into `document`, and the files left out of it as `left_out`.
Result<void> add_exact_diff(Session& session, Json& document, const Proposal& proposal);

/// Whether the calling agent may be shown what a file holds.
Result<bool> may_show(Session& session, const RelPath& path);

/// A refusal for a caller whose profile bounds what it may read: `what` shows files of all paths.
Result<void> check_reads_all(Session& session, std::string_view what);

/// Takes the contents out of a conflict about a file that the calling agent may not read.
template <class OnePath>
Result<void> hide_unread(Session& session, OnePath& path) {
  GALLEY_ASSIGN(const bool is_shown, may_show(session, path.path));
  if (is_shown) return {};
  path.diff.clear();
  path.hunks.clear();
  return {};
}

/// Prints the proposal as the diff options ask, or puts it and the verdict into `document`.
Result<void> show_preview(Session& session, const Preview& preview, Json& document);

/// Ends a command that asked the gate: prints the verdict (or `document`); 0 for a yes, 1 for a no.
Result<int> finish_verdict(Session& session, const Verdict& verdict, Json& document);

/// After a conflict about lines: how to get both sides between markers.
void say_markers_help(Session& session);

/// Ends a command that committed: what was committed, or why not, as text or in `document`.
/// `words` say for people what was done; without any, how it is taken back.
Result<int> finish_commit(Session& session, const CommitOutcome& outcome, Json& document,
                          const std::string& words = {});

/// For --conflict=markers: stages the proposal with markers in a stored transaction, and returns
/// where they are and what to do next: to be said last. `known` are markers that it has already.
Result<std::string> stage_markers(Session& session, Transaction& transaction,
                                  const Proposal& proposal, std::vector<MergedPath> known,
                                  Json& document);

}  // namespace galley
