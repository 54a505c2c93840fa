#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "cli/session.h"
#include "engine/calls/early_policy.h"
#include "engine/pipeline/transaction_state.h"
#include "staging/overlay/change_set.h"
#include "staging/printing/hyperlinks.h"

namespace galley {

/// Returns the part of a proposal that the calling agent may see.
Result<ReadablePart> part_for_caller(Session& session, const Proposal& proposal);

/// Prints the changes of a proposal in the format of the options, after `heading`. Files that the
/// calling agent may not read are omitted, with one line each on stderr.
Result<void> print_changes(Session& session, const Proposal& proposal,
                           const DiffArguments& arguments, const std::string& heading = {});

/// Returns the diff that the calling agent may see, with a line for each omitted file.
Result<std::string> diff_for_caller(Session& session, const Proposal& proposal,
                                    const OutputStyle& style);

/// Adds the exact diff to `document`, and the omitted files as `left_out`.
Result<void> add_exact_diff(Session& session, Json& document, const Proposal& proposal);

/// Refuses callers that may read only some paths, because `what` shows files of all paths.
Result<void> check_reads_all(Session& session, std::string_view what);

/// Prints the proposal in the format of the diff options, or adds it and the verdict to `document`.
Result<void> show_preview(Session& session, const Preview& preview, Json& document);

/// Ends a command that asked the gate: prints the verdict or `document`. Returns 0 if it approves,
/// 1 if it refuses.
Result<int> finish_verdict(Session& session, const Verdict& verdict, Json& document);

/// Ends a command whose commit is or would be a conflict: prints it or `document`.
int finish_conflict(Session& session, const Conflict& conflict, Json& document);

/// Says how to get both sides of a line conflict with markers. `tx` may be empty.
void explain_markers(Session& session, const std::string& tx);

/// Ends a command that committed: reports the commit, or why there is none, as text or in
/// `document`. `words` describe the action to people, by the number of the commit; without them the
/// text says how to undo it.
Result<int> finish_commit(Session& session, const CommitOutcome& outcome, Json& document,
                          const std::function<std::string(TxId)>& words = {});

inline constexpr int kCannotExecute = 126;  ///< as in shells and env(1)
inline constexpr int kNoProgram = 127;      ///< the same

/// Returns the exit status that a shell uses if a program cannot start: 127 if it does not exist,
/// 126 if it cannot be executed; `other` for any other error.
[[nodiscard]] int start_exit_status(const Error& error, int other);

/// For --conflict=markers: stages the proposal with markers in a stored transaction. Returns the
/// places of the markers and the next step, to be printed last. `known` are the markers that the
/// transaction already has.
Result<std::string> stage_markers(Session& session, Transaction& transaction,
                                  const Proposal& proposal, std::vector<MergedPath> known,
                                  Json& document);

}  // namespace galley
