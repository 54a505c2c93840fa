#include "engine/pipeline/maintenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/commit/journal_rules.h"
#include "engine/commit/recovery.h"
#include "engine/commit/retire.h"
#include "engine/commit/stage_directory.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/state_format.h"
#include "engine/history/history.h"
#include "engine/history/retention.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/idle_settings.h"
#include "engine/stages/run_folder.h"
#include "engine/stages/stored_stage.h"
#include "staging/fs/user_state.h"
#include "staging/git/git_program.h"
#include "staging/git/git_repository.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/sandbox_probe.h"

namespace galley {
namespace {

constexpr size_t kMaxRescued = 100'000;
/// A stage is abandoned if it did not change for so long and no process has it open.
constexpr std::chrono::hours kMaxStageAge{24 * 14};

// --- clearing -------------------------------------------------------------------------------

Result<void> clear_history(Workspace& workspace, bool dry_run, std::vector<ClearedItem>& cleared) {
  GALLEY_ASSIGN(const PruneReport report,
                prune_history(*persistent_of(workspace).state(), rules_of(workspace).config.history,
                              place_of(workspace).clock(), dry_run));
  for (const PruneReport::Pruned& pruned : report.transactions) {
    cleared.push_back(
        {fmt::format("transaction {} ({})", pruned.id.str(), pruned.why), pruned.bytes});
  }
  if (report.blobs > 0) {
    cleared.push_back({fmt::format("{} contents that no transaction names", report.blobs), 0});
  }
  return {};
}

/// Returns the transactions in which a program runs. They may be unlocked and unchanged for a long
/// time.
Result<std::vector<std::string>> busy_stages(const StateDirectory& state) {
  std::vector<std::string> busy;
  GALLEY_ASSIGN(const auto ids, RunFolder::list(state));
  for (const std::string& id : ids) {
    const auto folder = RunFolder::open(state, id);
    if (!folder) continue;  // it ended in the meantime
    GALLEY_ASSIGN(const bool is_live, folder->is_live());
    if (is_live) busy.push_back(id);
  }
  return busy;
}

/// Returns the transactions whose interrupted run wrote something since then. A running program
/// changes only its run folder, not its stage.
Result<std::vector<std::string>> stages_written_since(const StateDirectory& state,
                                                      int64_t since_ns) {
  std::vector<std::string> written;
  GALLEY_ASSIGN(const auto ids, RunFolder::list(state));
  for (const std::string& id : ids) {
    const auto folder = RunFolder::open(state, id);
    if (folder && tree_use(folder->directory()).changed_ns >= since_ns) written.push_back(id);
  }
  return written;
}

/// Removes folders of runs whose transaction no longer exists.
Result<void> clear_runs(const StateDirectory& state, bool dry_run,
                        std::vector<ClearedItem>& cleared) {
  const auto runs = state.root().open_directory(state.own("runs"));
  if (!runs && runs.error().kind == ErrorKind::kNotFound) return {};
  if (!runs) return fail(runs.error());
  GALLEY_ASSIGN(const auto entries, (*runs)->list());
  for (const DirectoryEntry& entry : entries) {
    auto folder = RunFolder::open(state, entry.name);
    if (!folder) continue;
    GALLEY_ASSIGN(const FileStat found, state.root().stat(state.own("stage/" + entry.name)));
    GALLEY_ASSIGN(const bool is_live, folder->is_live());
    if (found.kind != FileKind::kAbsent || is_live) continue;
    cleared.push_back({"the layer of the run " + entry.name, 0});
    if (!dry_run) GALLEY_TRY(RunFolder::remove(state, *std::move(folder)));
  }
  return {};
}

/// Removes directories that were deleted while views of runs still showed them. No run is live.
Result<void> clear_removed(const StateDirectory& state, const WriterLock& lock, bool dry_run,
                           std::vector<ClearedItem>& cleared) {
  GALLEY_ASSIGN(const RemovedDirectories removed_directories, RemovedDirectories::find(state));
  if (!removed_directories.is_there()) return {};
  cleared.push_back({"removed directories that runs had shown", 0});
  return dry_run ? Result<void>() : RemovedDirectories::clear(state, lock);
}

// --- checks ---------------------------------------------------------------------------------

Check ok(std::string name, std::string message) {
  return {std::move(name), CheckStatus::kOk, std::move(message), ""};
}

Result<std::vector<Check>> examine_journals(const Workspace& workspace) {
  const StateDirectory& state = *persistent_of(workspace).state();
  std::vector<Check> checks;
  size_t count = 0;
  for (const Directory* directory : {&state.journals(), &state.undo()}) {
    GALLEY_ASSIGN(const auto ids, journal_ids(*directory));
    for (const TxId id : ids) {
      ++count;
      GALLEY_ASSIGN(const JournalVerdict verdict, read_journal(state, *directory, id));
      if (verdict.state != JournalState::kDamaged) continue;
      const bool is_pending = directory == &state.journals();
      checks.push_back(
          {"journals", CheckStatus::kError,
           fmt::format("the journal of transaction {} is damaged: {}", id.str(), verdict.problem),
           std::string(
               "galley doctor --repair moves it to .galley/quarantine; then the transaction "
               "cannot be undone") +
               (is_pending ? ". If a crash interrupted its commit, only a part of its changes may "
                             "be in the tree: compare the files with git or a backup"
                           : "")});
    }
  }
  if (checks.empty()) checks.push_back(ok("journals", "whole: " + counted(count, "journal")));
  return checks;
}

/// Checks that `.galley` is trusted and stays trusted.
void examine_state_trust(const Workspace& workspace, std::vector<Check>& checks) {
  if (const Error* doubt = workspace.state_distrust()) {
    const bool may_be_adopted = doubt->message.find("recover --adopt") != std::string::npos;
    checks.push_back({"state", CheckStatus::kError, doubt->message,
                      may_be_adopted
                          ? "galley recover --adopt --dry-run shows what adopting it would do"
                          : "move '.galley' away; it cannot be adopted as it is"});
  }
  const StateDirectory* state = persistent_of(workspace).state();
  if (state == nullptr && workspace.state_distrust() == nullptr) return;
  const auto unbound = state != nullptr
                           ? unbound_state(*state)
                           : Result<std::vector<UnboundState>>(std::vector<UnboundState>());
  if (unbound && !unbound->empty()) {
    checks.push_back({"bound state", CheckStatus::kWarning, describe_unbound(*unbound),
                      "galley recover --adopt --dry-run shows what adopting it would do"});
  }
  const auto tracked = is_state_tracked(workspace);
  if (tracked && *tracked) {
    checks.push_back({"state and git", CheckStatus::kError,
                      "git tracks files in '.galley': every checkout can change it",
                      "git rm -r --cached .galley"});
  }
  if (!tracked && tracked.error().kind != ErrorKind::kNotFound) {
    checks.push_back(
        {"state and git", CheckStatus::kWarning,
         "whether git tracks '.galley' could not be found out: " + tracked.error().message, ""});
  }
}

Result<Check> examine_recovery(const Workspace& workspace) {
  auto report = persistent_of(workspace).recover(true);
  if (!report) {
    return Check{"recovery", CheckStatus::kError, report.error().message,
                 "galley recover --dry-run shows more"};
  }
  if (report->is_clean()) return ok("recovery", "nothing is unfinished");
  return Check{"recovery", CheckStatus::kWarning,
               "unfinished: " + counted(report->actions.size(), "step") + " of a transaction",
               "the next command finishes them; galley recover --dry-run shows which"};
}

Result<Check> examine_audit(const Workspace& workspace) {
  GALLEY_ASSIGN(const AuditVerification found, persistent_of(workspace).verify_audit());
  if (found.defects.empty()) return ok("audit", counted(found.records, "record") + ", chain whole");
  const auto worst = std::ranges::find_if(
      found.defects, [](const auto& each) { return each.reason != "audit.lost"; });
  if (worst == found.defects.end()) {
    return Check{
        "audit", CheckStatus::kWarning,
        counted(found.records, "record") + ", chain whole; " + found.defects.front().message,
        "what was lost cannot be restored; the log says where"};
  }
  const bool is_mended = worst->reason == "audit.truncated" || worst->reason == "audit.unrecorded";
  if (is_mended) {
    return Check{"audit", CheckStatus::kError, worst->message,
                 "repair it with: galley doctor --repair"};
  }
  return Check{"audit", CheckStatus::kError, worst->message,
               "galley audit verify lists every defect; galley doctor --repair sets the log aside "
               "and begins a new one, which names it"};
}

/// What a folder of the state has, for people.
std::string_view shown_part(std::string_view folder) {
  using Row = std::pair<std::string_view, std::string_view>;
  constexpr std::array<Row, 8> kParts = {{{"j", "new commits"},
                                          {"undo", "older commits"},
                                          {"blob", "large contents"},
                                          {"slot", "files that commits replaced"},
                                          {"stage", "open transactions"},
                                          {"contents", "staged contents"},
                                          {"cache", "cached answers"},
                                          {"keep", "folders that validators keep"}}};
  const auto* const found = std::ranges::find(kParts, folder, &Row::first);
  return found == kParts.end() ? folder : found->second;
}

Result<Check> examine_disk(const Workspace& workspace) {
  GALLEY_ASSIGN(const DiskUse use, disk_use(*persistent_of(workspace).state()));
  std::string text = counted(use.bytes, "byte") + " in " + counted(use.transactions, "transaction");
  for (const DiskUse::Part& part : use.parts) {
    if (part.bytes > 0) text += fmt::format(", {} {}", shown_part(part.name), part.bytes);
  }
  return ok("disk use", text);
}

std::vector<Check> examine_machine(const Workspace& workspace) {
  std::vector<Check> checks;
  SandboxOptions options;
  options.workspace = workspace.root_path();
  options.allow_copy = rules_of(workspace).config.sandbox.fallback == SandboxFallback::kCopy;
  const SandboxProbe probe = probe_sandbox(options, place_of(workspace).clock());
  for (const SandboxProbe::Item& item : probe.items) {
    checks.push_back(
        {item.name, item.present ? CheckStatus::kOk : CheckStatus::kWarning, item.detail, ""});
  }
  const bool runs = probe.level != SandboxLevel::kNone;
  checks.push_back({"sandbox", runs ? CheckStatus::kOk : CheckStatus::kWarning, probe.summary, ""});
  return checks;
}

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

bool is_taken_over(const std::string& kind) { return !contains(kNotTakenOver, kind); }

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

Result<std::vector<std::string>> recover_now(Workspace& workspace, bool dry_run) {
  std::vector<std::string> lines;
  if (persistent_of(workspace).state() == nullptr) return lines;
  GALLEY_ASSIGN(const RecoveryReport report, persistent_of(workspace).recover(dry_run));
  lines = repairs_of(report, dry_run);
  for (const RecoveryAction& action : report.actions) {
    const bool is_told = action.path.empty() && !lines.empty();
    if (is_told) continue;
    lines.push_back(
        (action.path.empty() ? "transaction " + action.transaction.str() : action.path) + ": " +
        action.text);
  }
  if (dry_run) return lines;
  const auto restored = persistent_of(workspace).restore_audit();
  if (!restored) {
    lines.push_back("no audit record could be put back: " + restored.error().message);
  } else if (*restored > 0) {
    lines.push_back(fmt::format("put back {} audit records", *restored));
  }
  return lines;
}

namespace {

Result<std::set<std::string>> sessions_in_history(const StateDirectory& state) {
  HistoryFilter filter;
  filter.with_lines = false;
  GALLEY_ASSIGN(const auto all, History(state).list(filter));
  std::set<std::string> sessions;
  for (const TxSummary& one : all) {
    if (one.turn > 0) sessions.insert(one.session);
  }
  return sessions;
}

}  // namespace

Result<std::vector<ClearedItem>> clear_garbage(Workspace& workspace, bool dry_run) {
  std::vector<ClearedItem> cleared;
  for (const std::string& path : clear_abandoned_layer_homes(dry_run)) {
    cleared.push_back({path + ", left by a command that was killed", 0});
  }
  if (persistent_of(workspace).state() == nullptr) return cleared;
  const StateDirectory& state = *persistent_of(workspace).state();
  GALLEY_ASSIGN(WriterLock lock, persistent_of(workspace).lock());
  GALLEY_ASSIGN(const auto homes, scratch_homes(state));
  GALLEY_ASSIGN(const auto busy, busy_stages(state));
  const int64_t oldest =
      place_of(workspace).clock().wall_ns() - std::chrono::nanoseconds(kMaxStageAge).count();
  GALLEY_ASSIGN(auto kept, stages_written_since(state, oldest));
  kept.insert(kept.end(), busy.begin(), busy.end());
  GALLEY_ASSIGN(const LeftoverReport leftovers,
                persistent_of(workspace).clear_leftovers(
                    lock, {kMaxStageAge, dry_run, kept, persistent_of(workspace).audit()}));
  for (const std::string& id : leftovers.stages) {
    cleared.push_back({"open transaction " + id, 0});
    const auto home = homes.find(id);
    if (home != homes.end() && !dry_run) GALLEY_TRY(remove_layer_home(home->second));
  }
  GALLEY_TRY(clear_runs(state, dry_run, cleared));
  GALLEY_ASSIGN(const auto remembered, sessions_in_history(state));
  GALLEY_ASSIGN(const SessionCleaning sessions,
                clear_sessions(state, place_of(workspace).clock().wall_ns(), dry_run, remembered));
  if (sessions.files > 0) {
    cleared.push_back({counted(sessions.files, "file") + " of agents' sessions", sessions.bytes});
  }
  // A new run cannot start while we have the lock.
  if (busy.empty()) GALLEY_TRY(clear_removed(state, lock, dry_run, cleared));
  for (const std::string& file : leftovers.files) cleared.push_back({file, 0});
  if (!cleared.empty()) cleared.push_back({"bytes of these", leftovers.bytes});
  if (leftovers.caught_bytes > 0) {
    cleared.push_back({"replaced files, held by finished commits", leftovers.caught_bytes});
  }
  GALLEY_TRY(clear_history(workspace, dry_run, cleared));
  return cleared;
}

Result<std::vector<std::string>> damaged_transactions(
    const StateDirectory& state, const std::vector<Workspace::Stage>& readable) {
  std::vector<std::string> damaged;
  GALLEY_ASSIGN(const auto stages, list_stages(state));
  for (const StageInfo& info : stages) {
    const bool was_read = contains(readable, info.id, &Workspace::Stage::id);
    if (was_read) continue;
    auto stage = StoredStage::open(state, info.id, std::chrono::milliseconds::zero());
    const auto read = stage ? stage->load() : fail(stage.error());
    if (!read && read.error().reason == "stage.damaged") damaged.push_back(info.id);
  }
  return damaged;
}

namespace {

/// Returns `galley.toml:LINE:COLUMN`, if the message begins with it, else the name of the file.
std::string flawed_place(const std::string& message) {
  const bool is_named = message.starts_with(std::string(kConfigFileName) + ":");
  return is_named ? message.substr(0, message.find(": ")) : std::string(kConfigFileName);
}

}  // namespace

Result<std::vector<Check>> examine(Workspace& workspace, bool repair) {
  std::vector<Check> checks = {ok("root", workspace.root_path())};
  if (const Error* flaw = workspace.configuration_flaw()) {
    checks.push_back({"configuration", CheckStatus::kError, flaw->message,
                      "correct " + flawed_place(flaw->message)});
  } else {
    checks.push_back(
        rules_of(workspace).config.file.empty()
            ? ok("configuration", "no galley.toml: only the built-in rules apply")
            : ok("configuration", rules_of(workspace).config.file + " is well formed"));
    for (const std::string& line : idle_settings(rules_of(workspace).config)) {
      checks.push_back({"configuration", CheckStatus::kWarning, line, "correct this line"});
    }
  }
  examine_state_trust(workspace, checks);
  if (persistent_of(workspace).state() != nullptr) {
    if (repair) {
      GALLEY_TRY(persistent_of(workspace).quarantine_damaged());
      // This comes first, since commits cannot retire while the log rejects records.
      GALLEY_TRY(persistent_of(workspace).audit()->begin_new_log());
      GALLEY_TRY(recover_now(workspace, false));
    }
    GALLEY_ASSIGN(const auto journals, examine_journals(workspace));
    checks.insert(checks.end(), journals.begin(), journals.end());
    for (const auto examine_part : {examine_recovery, examine_audit, examine_disk}) {
      GALLEY_ASSIGN(const Check check, examine_part(workspace));
      checks.push_back(check);
    }
    GALLEY_ASSIGN(const auto damaged, damaged_transactions(*persistent_of(workspace).state()));
    for (const std::string& id : damaged) {
      checks.push_back({"transactions", CheckStatus::kError,
                        "what is staged in transaction " + id + " cannot be read",
                        "drop it with: galley rollback --tx " + id});
    }
    GALLEY_ASSIGN(const auto rescued, list_rescued(workspace));
    if (!rescued.empty()) {
      checks.push_back({"rescue", CheckStatus::kWarning,
                        "moved aside: " + counted(rescued.size(), "file") + " of others",
                        "galley rescue list shows them"});
    }
  }
  const auto machine = examine_machine(workspace);
  checks.insert(checks.end(), machine.begin(), machine.end());
  return checks;
}

// --- rescued bytes --------------------------------------------------------------------------

namespace {

Result<void> collect_rescued(const Directory& directory, const std::string& prefix,
                             std::vector<RescuedItem>& found) {
  GALLEY_ASSIGN(const auto entries, directory.list());
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name || found.size() >= kMaxRescued) continue;
    const std::string path = prefix.empty() ? entry.name : prefix + "/" + entry.name;
    if (entry.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(const auto below, directory.open_directory(*name));
      GALLEY_TRY(collect_rescued(*below, path, found));
    } else {
      GALLEY_ASSIGN(const FileStat stat, directory.stat(*name));
      found.push_back({path, stat.size});
    }
  }
  return {};
}

Result<std::unique_ptr<WritableDirectory>> open_rescue(const Workspace& workspace) {
  if (persistent_of(workspace).state() == nullptr) {
    return fail(ErrorKind::kNotFound, "rescue.nothing", "nothing was ever rescued here");
  }
  const StateDirectory& state = *persistent_of(workspace).state();
  return state.root().open_writable_directory(state.own("rescue"));
}

}  // namespace

Result<std::vector<RescuedItem>> list_rescued(const Workspace& workspace) {
  std::vector<RescuedItem> found;
  auto directory = open_rescue(workspace);
  if (!directory) {
    if (directory.error().kind == ErrorKind::kNotFound) return found;
    return fail(directory.error());
  }
  GALLEY_TRY(collect_rescued(**directory, "", found));
  return found;
}

namespace {

Error not_rescued(const Error& why, const std::string& name) {
  if (why.kind != ErrorKind::kNotFound) return why;
  return {
      ErrorKind::kNotFound, "rescue.nothing",
      "nothing is rescued as '" + printable_line(name) + "'; `galley rescue list` shows what is"};
}

}  // namespace

Result<std::string> read_rescued(const Workspace& workspace, const std::string& name) {
  const auto directory = open_rescue(workspace);
  if (!directory) return fail(not_rescued(directory.error(), name));
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
  auto text = read_file(**directory, path, limits::kMaxFileBytes);
  if (!text) return fail(not_rescued(text.error(), name));
  return text;
}

Result<void> drop_rescued(const Workspace& workspace, const std::string& name) {
  const auto directory = open_rescue(workspace);
  if (!directory) return fail(not_rescued(directory.error(), name));
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
  GALLEY_ASSIGN(const FileStat there, (*directory)->stat(path));
  if (there.kind == FileKind::kAbsent) {
    return fail(not_rescued(Error{ErrorKind::kNotFound, "", ""}, name));
  }
  return remove_tree(**directory, path);
}

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
    if (action.kind == Kind::kDamagedJournal && !dry_run) {  // of a branch: else it is an error
      lines.push_back(fmt::format(
          "the journal of transaction {} is damaged ({}) and was set aside; git log tells whether "
          "the branch has its commit",
          action.transaction.str(), action.text));
    }
    if (action.kind != Kind::kFinishJournal) continue;
    const size_t count = paths[action.transaction].size();
    if (count == 0 && !action.is_interrupted) continue;
    const bool is_back = action.text == "taken back";
    // A branch moves at once, without paths of its own.
    lines.push_back(fmt::format("{}, {} {}{}", who, dry_run ? "would be" : "was",
                                is_back ? "taken back" : "finished",
                                count == 0 ? "" : ": " + counted(count, "path")));
  }
  return lines;
}

Result<bool> is_state_tracked(const Workspace& workspace) {
  const auto git = GitProgram::in_other_repository(workspace.root_path());
  const auto layout = git.layout();
  if (!layout && layout.error().reason == "git.no_repository") return false;
  if (!layout) return fail(layout.error());
  if (layout->is_bare) return false;
  // libgit2 would wait for ever for a pipe, so git has looked at the repository first.
  const auto repository = GitRepository::discover(workspace.root_path());
  if (repository && *repository) {
    if (const auto tracked = (*repository)->tracks_below(state_name())) return *tracked;
  }
  // libgit2 is not there, or cannot read this repository.
  GALLEY_ASSIGN(const std::string tracked, git.run({"ls-files", "-z", "--", state_name().str()}));
  return !tracked.empty();
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
