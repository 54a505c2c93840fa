#include "engine/pipeline/adoption.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "engine/commit/journal_rules.h"
#include "engine/commit/recovery.h"
#include "engine/commit/stage_directory.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/state_format.h"
#include "engine/history/retention.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_repository.h"

namespace galley {
namespace {

/// Files that are cheap to recreate. If they were adopted, a stranger's approvals and cached
/// contents would be in force.
constexpr const char* kNotTakenOver[] = {"approvals", "cache",    "confirmations", "grants",
                                         "keep",      "index.db", "sessions"};

RelPath state_name() { return *RelPath::parse(StateDirectory::kName); }

std::string describe_side(const JournalSide& side) {
  std::string text;
  switch (side.node.kind) {
    case FileKind::kRegular:
      text = fmt::format("a file of {} bytes, mode {:04o}", side.node.size, side.node.mode);
      break;
    case FileKind::kDirectory:
      text = fmt::format("a directory, mode {:04o}", side.node.mode);
      break;
    case FileKind::kSymlink:
      text = "a symbolic link";
      break;
    default:
      return "nothing";
  }
  if (!is_own_user(side.uid)) text += fmt::format(", of user {}", side.uid);
  for (const auto& attribute : side.attributes) text += ", attribute " + attribute.name;
  return text;
}

/// The final contents of every path that a journal names. The last journal wins.
using Goals = std::map<std::string, std::string>;

void add_goals(const Journal& journal, Goals& goals) {
  for (const JournalOp& op : journal.ops) {
    const JournalSide& side = journal.is_aborted ? op.before : op.after;
    std::string& goal = goals[op.path.str()];
    goal = describe_side(side);
    const auto target = journal.images.find(side.node.content);
    if (side.node.kind == FileKind::kSymlink && target != journal.images.end()) {
      goal += " to " + *target->second;
    }
  }
}

Result<Goals> read_goals(const Workspace& workspace, const StateDirectory& state) {
  Goals goals;
  GALLEY_ASSIGN(const auto ids, journal_ids(state.journals()));
  for (const TxId id : ids) {
    std::vector<JournalVerdict> one(1);
    GALLEY_ASSIGN(one[0], read_journal(state, state.journals(), id));
    if (one[0].state != JournalState::kCommitted) continue;
    GALLEY_TRY(
        check_journal_rules(place_of(workspace).files(), state, one, JournalTrust::kForeign));
    add_goals(one[0].journal, goals);
  }
  return goals;
}

Result<void> list_recovery(const Workspace& workspace, const StateDirectory& state,
                           std::vector<std::string>& effects) {
  GALLEY_ASSIGN(const Goals goals, read_goals(workspace, state));
  GALLEY_ASSIGN(const RecoveryReport report, persistent_of(workspace).plan_recovery(state));
  for (const RecoveryAction& action : report.actions) {
    const auto goal = goals.find(action.path);
    const bool is_put = action.kind == RecoveryAction::Kind::kPut ||
                        action.kind == RecoveryAction::Kind::kMakeDirectory;
    if (action.path.empty()) {
      effects.push_back(fmt::format("transaction {}: {}", action.transaction.str(), action.text));
    } else if (is_put && goal != goals.end()) {
      effects.push_back(fmt::format("{}: {} ({})", action.path, action.text, goal->second));
    } else {
      effects.push_back(fmt::format("{}: {}", action.path, action.text));
    }
  }
  return {};
}

bool is_taken_over(const std::string& kind) {
  return std::find(std::begin(kNotTakenOver), std::end(kNotTakenOver), kind) ==
         std::end(kNotTakenOver);
}

void list_unbound(const std::vector<UnboundState>& unbound, std::vector<std::string>& effects) {
  for (const UnboundState& one : unbound) {
    std::string effect = ": counts as made here from then on";
    if (one.kind == "stage") effect = ": an open transaction, can be committed from then on";
    if (!is_taken_over(one.kind)) effect = ": removed, it is not adopted";
    effects.push_back(".galley/" + one.place + effect);
  }
}

Result<void> bind_all(const StateDirectory& state) {
  GALLEY_ASSIGN(const auto unbound, unbound_state(state));
  for (const UnboundState& one : unbound) {
    GALLEY_ASSIGN(const RelPath place, RelPath::parse(one.place));
    GALLEY_TRY(is_taken_over(one.kind) ? bind_state(state, one) : remove_tree(state.root(), place));
  }
  return {};
}

Result<void> list_contents(const StateDirectory& state, std::vector<std::string>& effects) {
  GALLEY_ASSIGN(const DiskUse use, disk_use(state));
  effects.push_back("becomes the history, which can be undone: " +
                    counted(use.transactions, "transaction"));
  GALLEY_ASSIGN(const auto stages, list_stages(state));
  for (const StageInfo& stage : stages) {
    effects.push_back("open transaction " + stage.id + ": can be committed from then on");
  }
  for (const char* name : kNotTakenOver) {
    GALLEY_ASSIGN(const FileStat stat, state.root().stat(*RelPath::parse(name)));
    if (stat.kind == FileKind::kAbsent) continue;
    effects.push_back(fmt::format(".galley/{}: removed, it is not adopted", name));
  }
  return {};
}

Result<void> check_not_tracked(const Workspace& workspace, std::vector<std::string>& effects) {
  const auto tracked = is_state_tracked(workspace);
  if (!tracked) {
    effects.push_back("whether git tracks '.galley' could not be found out: " +
                      tracked.error().message);
    return {};
  }
  if (!*tracked) return {};
  return fail(ErrorKind::kRefused, "state.not_adoptable",
              "'.galley' cannot be adopted: git tracks files in it, so that every checkout could "
              "change it; end that with: git rm -r --cached .galley",
              ".galley");
}

}  // namespace

Result<bool> is_state_tracked(const Workspace& workspace) {
  GALLEY_ASSIGN(const auto repository, GitRepository::discover(workspace.root_path()));
  if (!repository) return false;
  return repository->tracks_below(state_name());
}

Result<AdoptionPlan> plan_adoption(const Workspace& workspace) {
  AdoptionPlan plan;
  if (const StateDirectory* believed = persistent_of(workspace).state()) {
    GALLEY_ASSIGN(const auto unbound, unbound_state(*believed));
    if (!unbound.empty()) {
      plan.doubt = describe_unbound(unbound);
      GALLEY_TRY(check_not_tracked(workspace, plan.effects));
      list_unbound(unbound, plan.effects);
      return plan;
    }
  }
  GALLEY_ASSIGN(const StateDirectory state, persistent_of(workspace).open_foreign());
  if (workspace.state_distrust() != nullptr) plan.doubt = workspace.state_distrust()->message;
  GALLEY_TRY(check_not_tracked(workspace, plan.effects));
  GALLEY_TRY(list_recovery(workspace, state, plan.effects));
  GALLEY_TRY(list_contents(state, plan.effects));
  GALLEY_ASSIGN(auto unbound, unbound_state(state));
  std::erase_if(unbound, [](const auto& one) { return !is_taken_over(one.kind); });
  list_unbound(unbound, plan.effects);
  return plan;
}

Result<void> adopt_state(Workspace& workspace, const AdoptionPlan& shown) {
  GALLEY_ASSIGN(const AdoptionPlan now, plan_adoption(workspace));
  if (now != shown) {
    return fail(ErrorKind::kConflict, "state.changed",
                "'.galley' or the tree changed since it was shown; look again", ".galley");
  }
  if (const StateDirectory* believed = persistent_of(workspace).state()) {
    GALLEY_TRY(bind_all(*believed));
    return workspace.open_adopted_state();
  }
  GALLEY_ASSIGN(StateDirectory state, persistent_of(workspace).open_foreign());
  for (const char* name : kNotTakenOver) {
    GALLEY_TRY(remove_tree(state.root(), *RelPath::parse(name)));
  }
  GALLEY_TRY(bind_all(state));
  GALLEY_TRY(persistent_of(workspace).adopt(state));
  return workspace.open_adopted_state();
}

}  // namespace galley
