#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/review/review_data.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// What a page says of a transaction, or of a commit, above its changes.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(
    const TransactionOptions& options);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(const TxSummary& summary);

/// The page of a proposal as one HTML file, without what the calling agent may not read.
Result<std::string> report_page(Session& session, const Proposal& proposal, ReviewSubject subject);

/// Writes that page to where --html says, and tells where it is.
/// Errors: kUsage `html.terminal` when it would go to a terminal, `html.json` when it would go
///         where the one JSON document goes; kRefused `report.agent` for an agent and a file.
Result<void> write_report(Session& session, const Proposal& proposal, ReviewSubject subject);

}  // namespace galley
