#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/commit_contents.h"
#include "engine/history/history.h"
#include "engine/history/turns.h"

namespace galley {

/// Opens the history of the session's workspace. If nothing was ever committed, the error says so:
/// "nothing to `verb` yet".
Result<History> open_history(Session& session, std::string_view verb = "show");

/// Checks that the history, an open transaction or a turn is of the session that the command's own
/// --session names.
/// Errors: kNotFound `history.unknown_session`, which names sessions like it.
[[nodiscard]] Result<void> check_session(Session& session);

/// Finds the turns of --turn; `last` is of the session that --session names.
/// Errors: as find_turn() and check_session(); kUsage `turn.session` for a turn of another session
///         than that of the command's own --session; kNotFound `turn.no_change` for `last` if the
///         newest prompt of the session changed nothing.
Result<TurnSummary> wanted_turn(Session& session, const History& history);

/// If nothing is at `path` in the workspace, returns "did you mean 'X'?" with the nearest of the
/// `known` paths, or an empty text if none is near; null if the path exists.
[[nodiscard]] Result<std::optional<std::string>> hint_if_absent(
    Session& session, const RelPath& path, const std::vector<std::string>& known);

/// Checks that each of `names` is a path that one of the transactions changed, or that the history
/// or the workspace has. `what` names the transactions in the error.
/// Errors: kUsage `undo.unknown_path`.
[[nodiscard]] Result<void> check_names_in(Session& session, const History& history,
                                          const std::vector<TxSummary>& transactions,
                                          const std::vector<std::string>& names,
                                          const std::string& what);

/// Returns the git commits that are known to contain transactions of the session's workspace.
Result<CommitLinks> commit_links(Session& session);

/// Returns one committed transaction for --json.
[[nodiscard]] Json transaction_json(const TxSummary& summary, const CommitLinks& links);

/// The format of a time: UTC (RFC 3339), the local zone, or relative to now.
struct ShownTime {
  std::string style = "utc";  ///< or `local`, `relative`
  int64_t now_ns = 0;
  [[nodiscard]] std::string text(int64_t wall_ns) const;
};

/// Returns one committed transaction for people: a heading, the reason, the first of its paths.
[[nodiscard]] std::string transaction_text(const TxSummary& summary, const CommitLinks& links,
                                           bool has_color, const ShownTime& when = {});

/// Returns the same in one line: number, reason or tool, agent.
[[nodiscard]] std::string transaction_line(const TxSummary& summary, bool has_color);

/// Tells people how many edits of a session are not on record. Silent if there are none or no
/// session is named.
void say_lost_edits(Session& session, Workspace& workspace, const std::string& id);

/// Adds the transactions whose journals are damaged to `document`. Returns a line for each that is
/// not in `told`. It reads only recent journals; doctor reads all of them.
Result<std::string> damage_text(const StateDirectory& state, const std::vector<TxSummary>& told,
                                Json& document);

}  // namespace galley
