#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "cli/reports.h"
#include "cli/staged.h"
#include "cli/verdicts.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/validators/bisect.h"

namespace galley {
namespace {

// --- bisecting ------------------------------------------------------------------------------

Result<Json> judged_part_json(Session& session, const JudgedPart& part) {
  Json document = {{"pieces", Json::array()}};
  for (const ProposalPiece& piece : part.pieces) {
    Json one = {{"path", piece.path.str()}};
    if (piece.hunk != 0) one["hunk"] = piece.hunk;
    if (piece.is_mode) one["mode"] = true;
    if (piece.more_paths != 0) one["more_paths"] = piece.more_paths;
    document["pieces"].push_back(std::move(one));
  }
  document["proposal"] = part.proposal.id().hex();
  document["verdict"] = verdict_json(part.verdict);
  GALLEY_TRY(add_exact_diff(session, document, part.proposal));
  return document;
}

Result<Json> bisect_json(Session& session, const BisectReport& report) {
  Json document = {
      {"pieces", report.pieces}, {"questions", report.questions}, {"complete", report.is_complete}};
  GALLEY_ASSIGN(document["smallest_refused"], judged_part_json(session, report.smallest_failing));
  GALLEY_ASSIGN(document["largest_passing"], judged_part_json(session, report.largest_passing));
  return document;
}

std::string part_text(std::string_view title, const JudgedPart& part, size_t whole) {
  constexpr size_t kShownPieces = 40;
  std::string text = fmt::format("{} ({} of {} pieces)\n", title, part.pieces.size(), whole);
  for (size_t i = 0; i < part.pieces.size() && i < kShownPieces; ++i) {
    text += "  " + printable_line(part.pieces[i].text()) + "\n";
  }
  if (part.pieces.size() > kShownPieces) {
    text += fmt::format("  … and {} more\n", part.pieces.size() - kShownPieces);
  }
  return text;
}

Result<void> show_bisection(Session& session, const BisectReport& report) {
  Terminal& terminal = session.terminal();
  session.print(
      part_text("the smallest part that is refused", report.smallest_failing, report.pieces));
  session.print(verdict_text(report.smallest_failing.verdict, terminal.has_color()));
  GALLEY_TRY(print_changes(session, report.smallest_failing.proposal, session.arguments().diff));
  session.print(part_text("the largest part that passes", report.largest_passing, report.pieces));
  session.say(fmt::format("{} parts were judged{}", report.questions,
                          report.is_complete ? ""
                                             : "; the time was up before these were known to be "
                                               "the smallest and the largest: try --budget"));
  return {};
}

Result<void> bisect(Session& session, Transaction& transaction, Json& document) {
  BisectOptions options;
  if (session.arguments().budget_s > 0) {
    options.budget = std::chrono::seconds(session.arguments().budget_s);
  }
  GALLEY_ASSIGN(const BisectReport report, inner(transaction).bisect(options));
  if (!session.is_json()) return show_bisection(session, report);
  GALLEY_ASSIGN(document["bisect"], bisect_json(session, report));
  return {};
}

}  // namespace

Result<int> run_validate(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Transaction transaction, session.resume());
  Json document = {{"schema", "galley.validate/1"}, {"ok", false}, {"tx", transaction.id()}};
  if (arguments.fix) GALLEY_TRY(stage_fixes(session, transaction, document));
  if (!arguments.verdict.verify.empty()) {
    GALLEY_ASSIGN(const JudgedSubject subject, verdict_subject(session, transaction.proposal()));
    return verify_verdict(session, subject);
  }
  GALLEY_ASSIGN(const Preview preview, transaction.preview(session.gate_progress()));
  const bool is_approved = preview.verdict.is_approved();
  document["ok"] = is_approved;
  document["proposal"] = preview.proposal.id().hex();
  document["verdict"] = verdict_json(preview.verdict);
  if (!arguments.verdict.write.empty()) {
    GALLEY_ASSIGN(const JudgedSubject subject, verdict_subject(session, preview.proposal));
    GALLEY_TRY(write_verdict(session, subject, preview.verdict));
  }
  GALLEY_ASSIGN(const bool is_reported, write_reports(session, preview, document));
  if (!session.is_json() && !is_reported) {
    session.print(verdict_text(preview.verdict, session.terminal().has_color()));
  }
  if (arguments.bisect && !is_approved) GALLEY_TRY(bisect(session, transaction, document));
  if (session.is_json()) session.print(document);
  return is_approved ? kExitDone : kExitNo;
}

}  // namespace galley
