#include "engine/commit/leftovers.h"

#include <algorithm>
#include <cerrno>

#include "base/file_mode.h"
#include "engine/commit/journal_rules.h"
#include "engine/commit/retire.h"
#include "engine/commit/stage_directory.h"

namespace galley {
namespace {

constexpr int kMaxPlaces = 1000;

class Clearing {
 public:
  Clearing(const StateDirectory& state, const Clock& clock, bool dry_run)
      : state_(state), clock_(clock), dry_run_(dry_run) {}

  Result<LeftoverReport> run(const ClearOptions& options) {
    GALLEY_TRY(drop_stages(options));
    GALLEY_TRY(drop_contents());
    GALLEY_TRY(drop_temporaries());
    GALLEY_TRY(drop_tickets());
    return std::move(report_);
  }

 private:
  Result<void> drop_stages(const ClearOptions& options);
  Result<void> drop_contents();
  Result<void> drop_temporaries();
  Result<void> drop_tickets();
  Result<void> drop(const WritableDirectory& directory, const std::string& prefix,
                    const std::string& name) {
    if (!dry_run_) GALLEY_TRY(directory.remove_file(chosen_path(name)));
    report_.files.push_back(prefix + name);
    return {};
  }

  const StateDirectory& state_;
  const Clock& clock_;
  bool dry_run_;
  LeftoverReport report_;
};

Result<void> Clearing::drop_stages(const ClearOptions& options) {
  GALLEY_ASSIGN(const auto stages, list_stages(state_));
  const int64_t oldest = clock_.wall_ns() - std::chrono::nanoseconds(options.max_stage_age).count();
  for (const auto& info : stages) {
    if (info.is_held || info.mtime_ns >= oldest) continue;
    const auto& busy = options.busy_stages;
    if (std::find(busy.begin(), busy.end(), info.id) != busy.end()) continue;
    if (!dry_run_) {
      auto stage = StageDirectory::adopt(state_, info.id);
      if (!stage) continue;  // another process took it over
      // Or it did so, staged something and ended since the stages were listed.
      GALLEY_ASSIGN(const int64_t changed, stage_changed_ns(stage->directory()));
      if (changed >= oldest) continue;
      GALLEY_TRY(StageDirectory::remove(state_, std::move(*stage)));
    }
    report_.stages.push_back(info.id);
    report_.bytes += info.bytes;
  }
  return {};
}

/// Drops contents of stages that a killed process was removing.
Result<void> Clearing::drop_contents() {
  GALLEY_ASSIGN(const auto unused, unused_contents(state_));
  for (const std::string& name : unused) {
    const RelPath path = state_.own("contents/" + name);
    const auto directory = state_.root().open_directory(path);
    const uint64_t bytes = directory ? tree_use(**directory).bytes : 0;
    if (!dry_run_) GALLEY_TRY(remove_tree(state_.root(), path));
    report_.bytes += bytes;
    report_.files.push_back(path.str());
  }
  return {};
}

/// Drops leftovers of a killed creation of `.galley`.
Result<void> Clearing::drop_temporaries() {
  GALLEY_ASSIGN(const auto entries, state_.root().list());
  for (const auto& entry : entries) {
    const bool is_temporary =
        entry.name.starts_with("format.") || entry.name.starts_with(".gitignore.");
    if (is_temporary && entry.kind == FileKind::kRegular) {
      GALLEY_TRY(drop(state_.root(), "", entry.name));
    }
  }
  return {};
}

Result<void> Clearing::drop_tickets() {
  const auto queue = state_.root().open_writable_directory(chosen_path("wait"));
  if (!queue && queue.error().kind == ErrorKind::kNotFound) return {};
  if (!queue) return queue.error();
  GALLEY_ASSIGN(const auto tickets, (*queue)->list());
  for (const auto& ticket : tickets) {
    const auto file = (*queue)->open_writable_file(chosen_path(ticket.name), OpenMode::kReadWrite);
    if (!file) continue;  // its waiter removed it
    GALLEY_ASSIGN(const bool is_dead, (*file)->try_lock(LockMode::kExclusive));
    if (is_dead) GALLEY_TRY(drop(**queue, "wait/", ticket.name));
  }
  return {};
}

/// Makes a new `quarantine/<tx>[.n]`: an id may be used again after its journal was moved away.
Result<RelPath> free_place(const StateDirectory& state, TxId id) {
  GALLEY_TRY(make_directories(state.root(), state.own("quarantine"), kPrivateDirectory));
  for (int attempt = 0; attempt < kMaxPlaces; ++attempt) {
    const std::string suffix = attempt == 0 ? "" : "." + std::to_string(attempt);
    RelPath place = state.own("quarantine/" + id.str() + suffix);
    auto made = state.root().make_directory(place, kPrivateDirectory);
    if (made) return place;
    if (made.error().os_error != EEXIST) return made.error();
  }
  return fail(ErrorKind::kQuota, "limit.quarantine", "there are too many journals in quarantine");
}

}  // namespace

Result<LeftoverReport> clear_leftovers(const WritableDirectory& workspace,
                                       const StateDirectory& state, WriterLock& lock,
                                       const Clock& clock, const ClearOptions& options) {
  GALLEY_ASSIGN(const auto due, due_journals(state, clock));
  GALLEY_ASSIGN(uint64_t caught_bytes, slot_bytes(state, due));
  if (!options.dry_run) {
    const RetireOptions retiring{state.session(current_boot_id()), options.audit};
    GALLEY_TRY(retire(workspace, state, lock, due, retiring));
    GALLEY_ASSIGN(const uint64_t left, slot_bytes(state, due));
    caught_bytes -= std::min(left, caught_bytes);
  }
  GALLEY_ASSIGN(LeftoverReport report, Clearing(state, clock, options.dry_run).run(options));
  report.caught_bytes = caught_bytes;
  return report;
}

namespace {

/// Whether the journal is unusable: damaged or, while it is pending, against the rules.
Result<bool> is_unusable(const WritableDirectory& workspace, const StateDirectory& state,
                         const Directory& directory, TxId id) {
  GALLEY_ASSIGN(const JournalVerdict verdict, read_journal(state, directory, id));
  if (verdict.state != JournalState::kCommitted) return verdict.state == JournalState::kDamaged;
  if (&directory != &state.journals()) return false;
  GALLEY_ASSIGN(const std::string broken,
                broken_rule(workspace, state, verdict.journal, JournalTrust::kOwn));
  return !broken.empty();
}

}  // namespace

Result<void> quarantine(const StateDirectory& state, const WritableDirectory& directory, TxId id) {
  GALLEY_ASSIGN(const RelPath place, free_place(state, id));
  const RelPath slots = chosen_path(id.file_name());
  GALLEY_ASSIGN(const FileStat there, state.slots().stat(slots));
  const bool is_pending = &directory == &state.journals();
  if (is_pending && there.kind == FileKind::kDirectory) {
    GALLEY_TRY(state.slots().rename(slots, state.root(), chosen_path(place.str() + "/slots"),
                                    RenameMode::kNoReplace));
  }
  return directory.rename(journal_name(id), state.root(),
                          chosen_path(place.str() + "/" + journal_name(id).str()),
                          RenameMode::kNoReplace);
}

Result<std::vector<TxId>> quarantine_damaged(const WritableDirectory& workspace,
                                             const StateDirectory& state, WriterLock& lock) {
  std::vector<TxId> moved;
  for (const WritableDirectory* directory : {&state.journals(), &state.undo()}) {
    GALLEY_ASSIGN(const auto ids, journal_ids(*directory));
    for (const TxId id : ids) {
      GALLEY_ASSIGN(const bool is_bad, is_unusable(workspace, state, *directory, id));
      if (!is_bad) continue;
      // The id may be used again. Then the note must not count the new journal as completed.
      GALLEY_TRY(lock.forget_last());
      GALLEY_TRY(quarantine(state, *directory, id));
      moved.push_back(id);
    }
  }
  if (!moved.empty()) {
    GALLEY_TRY(state.journals().sync());
  }
  return moved;
}

}  // namespace galley
