
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/tool_calls.h"
#include "engine/calls/transcript.h"
#include "engine/pipeline/replay.h"

namespace galley {
namespace {

Json difference_json(const ReplayDifference& one) {
  Json out = {{"what", one.what}, {"call", one.call}, {"tool", one.tool}};
  if (!one.where.empty()) out["where"] = one.where;
  if (one.what == "not_replayed") {
    out["reason"] = one.reason;
    out["message"] = one.message;
    return out;
  }
  out["expected"] = one.expected;
  out["found"] = one.found;
  return out;
}

Json report_json(const ReplayReport& report) {
  Json document = {{"schema", "galley.replay/1"},
                   {"ok", report.is_equal()},
                   {"calls", report.calls},
                   {"replayed", report.replayed},
                   {"differences", Json::array()}};
  for (const ReplayDifference& one : report.differences) {
    document["differences"].push_back(difference_json(one));
  }
  if (report.more > 0) document["more"] = report.more;
  return document;
}

/// Uses the open transaction of --tx, or one in memory that is dropped afterwards.
Result<Transaction> begin_replay(Session& session, Workspace& workspace) {
  if (!session.arguments().tx.empty()) return session.resume();
  return workspace.begin(session.transaction_options());
}

}  // namespace

Result<int> run_replay(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(const std::string text,
                session.read_input(arguments.input, "the transcript", kMaxTranscriptReadBytes));
  GALLEY_ASSIGN(const auto calls, read_transcript(text));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, begin_replay(session, *workspace));
  ReplayOptions options;
  GALLEY_ASSIGN(options.secrets, secrets_of_environment(arguments.call.secrets));
  GALLEY_ASSIGN(const ReplayReport report, replay(*workspace, transaction, calls, options));
  if (!arguments.tx.empty()) GALLEY_TRY(transaction.save());
  if (session.is_json()) {
    Json document = report_json(report);
    if (!arguments.tx.empty()) document["tx"] = transaction.id();
    session.print(document);
  } else {
    session.say_lines(describe(report));
  }
  return report.is_equal() ? kExitDone : kExitNo;
}

}  // namespace galley
