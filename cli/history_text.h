#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/session.h"
#include "engine/git_hooks/commit_links.h"
#include "engine/history/history.h"

namespace galley {

/// The history of the session's workspace. Where nothing was ever committed that is an error, which
/// says so: "nothing to `verb` yet".
Result<History> open_history(Session& session, std::string_view verb = "show");

/// The commits of git that are known to hold transactions of the session's workspace.
Result<CommitLinks> commit_links(Session& session);

/// One committed transaction, for --json.
[[nodiscard]] Json transaction_json(const TxSummary& summary, const CommitLinks& links);

/// How a time is shown: in UTC (RFC 3339), in the zone of this machine, or as it lies before now.
struct ShownTime {
  std::string style = "utc";  ///< or `local`, `relative`
  int64_t now_ns = 0;
  [[nodiscard]] std::string text(int64_t wall_ns) const;
};

/// One committed transaction for people: a heading, the reason, the first of its paths.
[[nodiscard]] std::string transaction_text(const TxSummary& summary, const CommitLinks& links,
                                           bool has_color, const ShownTime& when = {});

/// The same in one line: number, reason or tool, who.
[[nodiscard]] std::string transaction_line(const TxSummary& summary, bool has_color);

}  // namespace galley
