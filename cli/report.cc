#include "cli/report.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "engine/review/review_page.h"

namespace galley {

std::vector<std::pair<std::string, std::string>> facts_of(const TransactionOptions& options) {
  std::vector<std::pair<std::string, std::string>> facts;
  const std::string& who = options.owner ? *options.owner : options.agent;
  if (!who.empty()) facts.emplace_back("Agent", who);
  for (const std::string& name : options.contributors) facts.emplace_back("Also by", name);
  if (!options.message.empty()) facts.emplace_back("Reason", options.message);
  return facts;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TxSummary& summary) {
  std::vector<std::pair<std::string, std::string>> facts = {{"Time", rfc3339_utc(summary.time_ns)}};
  if (!summary.agent.empty()) facts.emplace_back("Agent", summary.agent);
  if (summary.owner) facts.emplace_back("Begun by", *summary.owner);
  facts.emplace_back("Tool", summary.tool);
  if (!summary.message.empty()) facts.emplace_back("Reason", summary.message);
  return facts;
}

Result<std::string> report_page(Session& session, const Proposal& proposal, ReviewSubject subject) {
  // A person may see everything; what they look at may lie in no workspace.
  const bool is_person = session.arguments().global.agent.empty();
  GALLEY_ASSIGN(const ReadablePart part, is_person
                                             ? Result<ReadablePart>(ReadablePart{proposal, {}})
                                             : part_for_caller(session, proposal));
  subject.left_out = part.left_out;
  if (subject.title.empty()) subject.title = "Proposed change";
  ProposalDiffOptions options;
  options.file = file_options(session.arguments().diff, Paper());
  GALLEY_ASSIGN(const Json data, review_data(part.proposal, subject, options));
  return review_page(data, PageHome::kFile);
}

Result<void> write_report(Session& session, const Proposal& proposal, ReviewSubject subject) {
  const std::string& file = session.arguments().diff.html;
  const bool is_stdout = file == "-";
  if (is_stdout && session.is_json()) {
    return fail(ErrorKind::kUsage, "html.json",
                "standard output is for the JSON document; say where the page goes: --html=FILE");
  }
  if (is_stdout && session.terminal().is_terminal()) {
    return fail(ErrorKind::kUsage, "html.terminal",
                "a page is nothing to read on a terminal; say where it goes: --html=FILE");
  }
  GALLEY_ASSIGN(const std::string page, report_page(session, proposal, std::move(subject)));
  if (is_stdout) {
    session.print(page);
    return {};
  }
  GALLEY_TRY(write_report_file(session, file, page));
  session.say("the page is in " + file);
  return {};
}

}  // namespace galley
