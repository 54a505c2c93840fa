#include "engine/commit/retire.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/file_mode.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/mutant.h"
#include "engine/commit/slots.h"
#include "engine/commit/stage_directory.h"

namespace galley {

namespace {

/// The objects to flush so that the tree described by some journals is on the disk.
struct SyncTargets {
  std::set<RelPath> files;
  std::set<RelPath> directories;
};

/// Returns nullopt when there are many, or when one of them cannot be flushed individually.
std::optional<SyncTargets> few_targets(const std::vector<JournalVerdict>& verdicts) {
  SyncTargets targets;
  for (const auto& verdict : verdicts) {
    for (const auto& op : verdict.journal.ops) {
      if (op.after.node.kind == FileKind::kSymlink) return std::nullopt;
      if (op.after.node.kind == FileKind::kRegular) targets.files.insert(op.path);
      if (op.after.node.kind == FileKind::kDirectory) targets.directories.insert(op.path);
      targets.directories.insert(op.path.parent());
      if (targets.files.size() + targets.directories.size() > kMaxSyncTargets) return std::nullopt;
    }
  }
  return targets;
}

/// Returns false when an object differs from the journals, or when its mode does not let it be
/// opened.
Result<bool> sync_each(const WritableDirectory& workspace, const SyncTargets& targets) {
  for (const RelPath& path : targets.files) {
    const auto file = workspace.open_writable_file(path, OpenMode::kRead);
    if (!file) return false;
    if (!is_mutant(Mutant::kRetireUnsyncedFiles)) GALLEY_TRY((*file)->sync());
  }
  for (const RelPath& path : targets.directories) {
    const auto directory = workspace.open_writable_directory(path);
    if (!directory) return false;
    const auto synced =
        is_mutant(Mutant::kRetireUnsyncedNames) ? Result<void>() : (*directory)->sync();
    // It is not readable, so it cannot be opened and flushed individually.
    if (!synced && synced.error().os_error == EACCES) return false;
    GALLEY_TRY(synced);
  }
  return true;
}

Result<void> sync_tree(const WritableDirectory& workspace,
                       const std::vector<JournalVerdict>& verdicts) {
  if (const auto targets = few_targets(verdicts)) {
    GALLEY_ASSIGN(const bool is_synced, sync_each(workspace, *targets));
    if (is_synced) return {};
  }
  return workspace.sync_file_system();
}

/// The page cache is enough: after a reboot recovery looks at every path anyway.
Result<void> mark_unflushed(const StateDirectory& state, WriterLock& lock,
                            const std::string& session) {
  if (is_mutant(Mutant::kNoUnflushedMark)) return {};
  GALLEY_TRY(lock.forget_last());
  GALLEY_ASSIGN(const auto ids, journal_ids(state.journals()));
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const auto verdict, read_journal(state, state.journals(), id, ImageUse::kSkip));
    if (verdict.state != JournalState::kCommitted) continue;
    GALLEY_ASSIGN(const auto file,
                  state.journals().open_writable_file(journal_name(id), OpenMode::kReadWrite));
    GALLEY_TRY(JournalTrailer(*file, verdict).unflushed(session));
  }
  return {};
}

/// After the retirement only the history has these records, so missing ones are added to the audit
/// log first.
bool are_on_record(const std::vector<JournalVerdict>& verdicts, AuditSink* audit) {
  if (audit == nullptr || is_mutant(Mutant::kRetireUnrecorded)) return true;
  std::vector<std::string> records;
  for (const auto& verdict : verdicts) {
    const auto& own = verdict.journal.meta.audit;
    records.insert(records.end(), own.begin(), own.end());
  }
  return records.empty() || audit->settle(records);
}

}  // namespace

Result<std::vector<JournalNote>> retire(const WritableDirectory& workspace,
                                        const StateDirectory& state, WriterLock& lock,
                                        const std::vector<TxId>& ids,
                                        const RetireOptions& options) {
  const std::string& session = options.session;
  std::vector<JournalNote> all;
  std::vector<JournalVerdict> verdicts;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(JournalVerdict verdict,
                  read_journal(state, state.journals(), id, ImageUse::kSkip));
    const auto& unflushed = verdict.journal.unflushed_boot;
    const bool awaits_recovery = unflushed && is_same_session(*unflushed, session);
    if (verdict.state != JournalState::kCommitted || awaits_recovery) continue;
    verdicts.push_back(std::move(verdict));
  }
  if (verdicts.empty() || !are_on_record(verdicts, options.audit)) return all;
  // After the retirement, a tree that a power cut tore could not be repaired.
  const auto synced =
      is_mutant(Mutant::kRetireBeforeSync) ? Result<void>() : sync_tree(workspace, verdicts);
  if (!synced) {
    GALLEY_TRY(mark_unflushed(state, lock, session));
    return synced.error();
  }
  if (!is_mutant(Mutant::kRetireBeforeNote)) {
    TxId last;
    for (const auto& verdict : verdicts) last = std::max(last, verdict.journal.id);
    GALLEY_TRY(lock.forget_if_before(last));
  }
  for (auto& verdict : verdicts) {
    const TxId id = verdict.journal.id;
    const bool may_be_torn = verdict.journal.boot != session;
    if (may_be_torn) {  // only its contents show whether it is torn
      GALLEY_ASSIGN(verdict, read_journal(state, state.journals(), id));
      if (verdict.state != JournalState::kCommitted) continue;
    }
    std::vector<JournalNote> notes;
    GALLEY_TRY(sweep_slots(state, verdict.journal, may_be_torn, notes));
    if (!notes.empty()) {
      GALLEY_ASSIGN(const auto file,
                    state.journals().open_writable_file(journal_name(id), OpenMode::kReadWrite));
      JournalTrailer trailer(*file, verdict);
      for (const auto& note : notes) GALLEY_TRY(trailer.note(note));
    }
    GALLEY_TRY(state.journals().rename(journal_name(id), state.undo(), journal_name(id),
                                       RenameMode::kReplace));
    all.insert(all.end(), notes.begin(), notes.end());
  }
  return all;
}

Result<uint64_t> slot_bytes(const StateDirectory& state, const std::vector<TxId>& ids) {
  uint64_t bytes = 0;
  for (const TxId id : ids) {
    const auto slots = state.slots().open_directory(chosen_path(id.file_name()));
    if (!slots && slots.error().kind == ErrorKind::kNotFound) continue;
    if (!slots) return fail(slots.error());
    bytes += tree_use(**slots).bytes;
  }
  return bytes;
}

Result<std::vector<TxId>> due_journals(const StateDirectory& state, const Clock& clock) {
  GALLEY_ASSIGN(const auto ids, journal_ids(state.journals()));
  const int64_t window = std::chrono::nanoseconds(kLateWriterWindow).count();
  const int64_t now = clock.wall_ns();
  uint64_t bytes = 0;
  std::vector<TxId> due;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const FileStat stat, state.journals().stat(journal_name(id)));
    GALLEY_ASSIGN(const uint64_t caught, slot_bytes(state, {id}));
    bytes += stat.size + caught;
    if (now - stat.mtime_ns > window) due.push_back(id);
  }
  const bool is_too_much = ids.size() > kMaxPendingJournals || bytes > kMaxPendingBytes;
  return is_too_much ? ids : due;
}

Result<std::vector<JournalNote>> retire_due(const WritableDirectory& workspace,
                                            const StateDirectory& state, WriterLock& lock,
                                            const Clock& clock, const RetireOptions& options) {
  GALLEY_ASSIGN(const auto due, due_journals(state, clock));
  return retire(workspace, state, lock, due, options);
}

Result<TxId> last_transaction(const StateDirectory& state, const WriterLock& lock,
                              const std::string& session) {
  if (const auto noted = lock.last_transaction(session)) return *noted;
  GALLEY_ASSIGN(const auto pending, journal_ids(state.journals()));
  GALLEY_ASSIGN(const auto retired, journal_ids(state.undo()));
  TxId last;
  if (!pending.empty()) last = std::max(last, pending.back());
  if (!retired.empty()) last = std::max(last, retired.back());
  return last;
}

namespace {

constexpr int kMaxNames = 1'000'000;

RelPath place(const StateDirectory& state) { return state.own("runs/graveyard"); }

Error not_empty(const RelPath& name) {
  return os_error(ENOTEMPTY, "cannot remove directory", name.str());
}

Result<bool> is_empty(const WritableDirectory& directory, const RelPath& name) {
  GALLEY_ASSIGN(const auto opened, directory.open_directory(name));
  GALLEY_ASSIGN(const auto entries, opened->list());
  return entries.empty();
}

/// Moves it to an unused name. Returns nullopt when the system does not allow the move.
Result<std::optional<RelPath>> move(const WritableDirectory& from, const RelPath& name,
                                    const WritableDirectory& to) {
  GALLEY_ASSIGN(const FileStat stat, from.stat(name));
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    GALLEY_ASSIGN(RelPath target,
                  RelPath::parse(std::to_string(stat.inode) + "." + std::to_string(attempt)));
    const auto moved = from.rename(name, to, target, RenameMode::kNoReplace);
    if (moved) return std::optional<RelPath>(std::move(target));
    const int code = moved.error().os_error;
    if (code == ENOENT || code == ENOTDIR) return fail(moved.error());
    if (code != EEXIST) return std::optional<RelPath>();
  }
  return std::optional<RelPath>();
}

}  // namespace

Result<RemovedDirectories> RemovedDirectories::open_or_create(const StateDirectory& state,
                                                              const WriterLock& /*lock*/) {
  GALLEY_TRY(make_directories(state.root(), place(state), kPrivateDirectory));
  return find(state);
}

Result<RemovedDirectories> RemovedDirectories::find(const StateDirectory& state) {
  auto opened = state.root().open_writable_directory(place(state));
  if (opened) return RemovedDirectories(std::move(*opened));
  if (opened.error().kind == ErrorKind::kNotFound) return RemovedDirectories();
  return fail(opened.error());
}

Result<void> RemovedDirectories::clear(const StateDirectory& state, const WriterLock& /*lock*/) {
  return remove_tree(state.root(), place(state));
}

Result<void> RemovedDirectories::remove(const WritableDirectory& from, const RelPath& name) const {
  if (place_ == nullptr) return from.remove_directory(name);
  const auto was_empty = is_empty(from, name);
  if (!was_empty) return from.remove_directory(name);  // its mode may forbid reading it
  if (!*was_empty) return not_empty(name);
  GALLEY_ASSIGN(const auto buried, move(from, name, *place_));
  // When it cannot be moved (a workspace of several mounts), a view may show it as empty.
  if (!buried) return from.remove_directory(name);
  GALLEY_ASSIGN(const bool is_still_empty, is_empty(*place_, *buried));
  if (is_still_empty) return {};
  // Another program saved a file in it in the last instant.
  GALLEY_TRY(place_->rename(*buried, from, name, RenameMode::kNoReplace));
  return not_empty(name);
}

}  // namespace galley
