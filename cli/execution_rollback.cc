#include "cli/execution_rollback.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/outcome.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/state_directory.h"

namespace galley {
namespace {

Result<int> take_out_of_open(Session& session, const std::string& tx) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Transaction transaction, session.resume(tx));
  CallOptions options;
  options.dry_run = arguments.dry_run;
  GALLEY_ASSIGN(const auto taken,
                transaction.rollback_execution(arguments.execution, arguments.with_later, options));
  if (session.is_json()) {
    Json document = {{"schema", "galley.rollback/1"},
                     {"ok", true},
                     {"tx", transaction.id()},
                     {"executions", taken}};
    if (arguments.dry_run) document["dry_run"] = true;
    session.print(document);
  }
  for (const std::string& id : taken) {
    session.say((arguments.dry_run ? "would take back " : "took back ") + printable_line(id));
  }
  return kExitDone;
}

Result<int> undo_committed(Session& session, Workspace& workspace, TxId tx) {
  const Arguments& arguments = session.arguments();
  if (arguments.dry_run) {
    return fail(ErrorKind::kUsage, "rollback.no_preview",
                "-n shows what would be taken out of an open transaction; this call is committed: "
                "look with galley undo -n --path PATH " +
                    tx.str());
  }
  GALLEY_ASSIGN(const CommitOutcome outcome,
                workspace.rollback_execution(arguments.execution, arguments.with_later,
                                             session.transaction_options()));
  Json document = {{"schema", "galley.rollback/1"}, {"ok", true}, {"tx", tx.str()}};
  return finish_commit(session, outcome, document);
}

}  // namespace

Result<int> rollback_execution(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.tx.empty()) return take_out_of_open(session, arguments.tx);
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, persistent_of(*workspace).history("roll back"));
  GALLEY_ASSIGN(const RecordedTransaction found,
                find_recorded_call(history.state().root(), arguments.execution));
  if (found.committed) return undo_committed(session, *workspace, *found.committed);
  return take_out_of_open(session, found.open_tx);
}

}  // namespace galley
