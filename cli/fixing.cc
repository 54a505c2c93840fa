#include "cli/fixing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/outcome.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/validators/fix.h"

namespace galley {
namespace {

Result<Json> fix_json(Session& session, const FixReport& report) {
  Json document = {{"runs", Json::array()}};
  const auto names = [](const std::vector<RelPath>& paths) {
    Json list = Json::array();
    for (const RelPath& path : paths) list.push_back(path.str());
    return list;
  };
  for (const FixRun& run : report.runs) {
    document["runs"].push_back({{"validator", run.validator},
                                {"changed", names(run.changed)},
                                {"left_out", names(run.left_out)}});
  }
  document["changes"] = changes_json(report.change.changes());
  GALLEY_TRY(add_exact_diff(session, document, report.change));
  return document;
}

/// `tx` is empty if the transaction ends with this command.
Result<void> say_fixes(Session& session, const FixReport& report, const std::string& tx) {
  for (const FixRun& run : report.runs) {
    for (const RelPath& path : run.left_out) {
      session.say(fmt::format("{} changed {} too, which is not its to change: left out",
                              run.validator, path.str()));
    }
    if (!run.changed.empty()) {
      session.say(fmt::format("{} changed {}", run.validator, counted(run.changed.size(), "file")));
    }
  }
  if (report.change.is_empty()) {
    session.say("the fixers had nothing to change");
    return {};
  }
  if (tx.empty()) return {};  // its diff includes the fixes
  GALLEY_TRY(print_changes(session, report.change, session.arguments().diff));
  session.say("staged; take it back with: " +
              session.hint(fmt::format("rollback --tx {} --to {}", tx, Transaction::kBeforeFix)));
  return {};
}

}  // namespace

Result<void> stage_fixes(Session& session, Transaction& transaction, Json& document) {
  session.terminal().work_on("running the validators that fix");
  GALLEY_ASSIGN(const FixReport report, inner(transaction).fix());
  GALLEY_TRY(transaction.save());
  if (!session.is_json()) return say_fixes(session, report, transaction.id());
  GALLEY_ASSIGN(document["fix"], fix_json(session, report));
  return {};
}

}  // namespace galley
