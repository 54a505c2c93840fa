#include "engine/pipeline/recovery_text.h"
#include "base/number.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace galley {
namespace {

using Kind = RecoveryAction::Kind;

bool changes_path(Kind kind) {
  return kind == Kind::kPut || kind == Kind::kRemove || kind == Kind::kMakeDirectory ||
         kind == Kind::kRemoveDirectory || kind == Kind::kSetMode;
}

}  // namespace

std::vector<std::string> repairs_of(const RecoveryReport& report, bool dry_run) {
  std::map<TxId, std::set<std::string>> paths;
  for (const RecoveryAction& action : report.actions) {
    if (changes_path(action.kind)) paths[action.transaction].insert(action.path);
  }
  std::vector<std::string> lines;
  for (const RecoveryAction& action : report.actions) {
    const std::string who =
        fmt::format("transaction {}, which a crash interrupted", action.transaction.str());
    if (action.kind == Kind::kDropJournal) {
      lines.push_back(who + (dry_run ? " before it was committed, would be cleared away: nothing "
                                       "of it was applied"
                                     : " before it was committed, was cleared away: nothing of it "
                                       "was applied"));
    }
    if (action.kind != Kind::kFinishJournal) continue;
    const size_t count = paths[action.transaction].size();
    if (count == 0 && !action.is_interrupted) continue;
    const bool is_back = action.text == "taken back";
    lines.push_back(fmt::format("{}, {} {}: {}", who, dry_run ? "would be" : "was",
                                is_back ? "taken back" : "finished", counted(count, "path")));
  }
  return lines;
}

}  // namespace galley
