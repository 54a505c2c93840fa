#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/review/review_data.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// One `--report FORMAT[=FILE]`.
struct ReportRequest {
  std::string format;
  std::string file;  ///< empty: standard output, in place of the text
};

/// Parses the values of --report.
/// Errors: kUsage `usage.report` for an unknown format, or for two reports on standard output.
[[nodiscard]] Result<std::vector<ReportRequest>> report_requests(
    const std::vector<std::string>& words);

/// The findings, each with a fingerprint. A refusal without an error among them is one more.
[[nodiscard]] std::vector<Finding> reported_findings(const Preview& judged);

/// The reports that do not depend on the terminal. All except `sarif` have one entry per finding.
/// Texts from files and programs are escaped so that they cannot end a field.
[[nodiscard]] std::string sarif_report(const Preview& judged);
[[nodiscard]] std::string junit_report(const Preview& judged);
[[nodiscard]] std::string github_report(const Preview& judged);
[[nodiscard]] std::string github_summary_report(const Preview& judged);
[[nodiscard]] std::string gitlab_report(const Preview& judged);
[[nodiscard]] std::string rdjson_report(const Preview& judged);
[[nodiscard]] std::string baseline_report(const Preview& judged);

/// Writes a file for other programs, or adds the text to it.
/// Errors: kRefused `report.agent` for an agent: the gate would not see this edit;
///         kRefused `report.not_plain` for a link or a special file in the workspace; kIo.
Result<void> write_report_file(Session& session, const std::string& file, std::string_view text,
                               bool is_added = false);

/// Writes the reports of --report. `document` is the output of --json. Returns true if a report
/// went to standard output. The caller must then write nothing else to standard output.
/// Errors: kRefused `report.agent` for an agent and a file, kIo.
Result<bool> write_reports(Session& session, const Preview& judged, const Json& document);

/// Returns the facts about a transaction or a commit for the top of the page.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(
    const TransactionOptions& options);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(const TxSummary& summary);

/// Returns a proposal as one HTML page, without the files that the calling agent may not read.
Result<std::string> report_page(Session& session, const Proposal& proposal, ReviewSubject subject);

/// Writes that page to the file of --html, and prints its path.
/// Errors: kUsage `html.terminal` if it would go to a terminal, `html.json` if standard output is
///         used for JSON; kRefused `report.agent` for an agent and a file.
Result<void> write_report(Session& session, const Proposal& proposal, ReviewSubject subject);

}  // namespace galley
