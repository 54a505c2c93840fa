#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/review/review_data.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// One `--report FORMAT[=FILE]`.
struct ReportRequest {
  std::string format;
  std::string file;  ///< empty: standard output, in place of the text
};

/// The names that --report takes, sorted (docs/output.md).
[[nodiscard]] const std::vector<std::string>& report_formats();

/// What the words of --report ask for.
/// Errors: kUsage `usage.report`: an unknown format, or two reports for standard output.
[[nodiscard]] Result<std::vector<ReportRequest>> report_requests(
    const std::vector<std::string>& words);

/// What the formats that do not depend on the terminal make of a judgement. All of them but `sarif`
/// have one entry for each finding; texts from files and programs cannot end their field in any.
[[nodiscard]] std::string sarif_report(const Preview& judged);
[[nodiscard]] std::string junit_report(const Preview& judged);
[[nodiscard]] std::string github_report(const Preview& judged);
[[nodiscard]] std::string github_summary_report(const Preview& judged);
[[nodiscard]] std::string gitlab_report(const Preview& judged);
[[nodiscard]] std::string rdjson_report(const Preview& judged);
[[nodiscard]] std::string baseline_report(const Preview& judged);

/// Writes a file for other programs.
/// Errors: kRefused `report.agent` for an agent: the file would be an edit that no gate saw; kIo.
Result<void> write_report_file(Session& session, const std::string& file, std::string_view text);

/// Writes the reports that --report asks for, `document` being what --json prints. Returns whether
/// one of them went to standard output, which then has nothing else.
/// Errors: kRefused `report.agent` for an agent and a file, kIo.
Result<bool> write_reports(Session& session, const Preview& judged, const Json& document);

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
