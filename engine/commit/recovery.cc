#include "engine/commit/recovery.h"

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/file_mode.h"
#include "base/result.h"
#include "engine/commit/apply.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/journal_rules.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/mutant.h"
#include "engine/commit/recovery_fold.h"
#include "engine/commit/retire.h"
#include "engine/commit/slots.h"
#include "engine/commit/workspace_view.h"

// One run, under the writer lock:
//
//   read journals --any damaged, or against the rules--> Error, nothing touched
//        |
//   drop torn ones and slots without a journal
//        |
//   copy the others, sync the copies and j/  (I6: a journal may be readable only from the page
//        |                                     cache; I5: and its first flush may have failed)
//   fold them per path: known images, wanted state
//        |
//   remove, rmdir (deepest first) -> mkdir (shallow first) -> put -> modes (deepest first)
//        |
//   write contents again that a failed flush may have left only in the page cache
//        |
//   APPLIED -> sync the tree -> sweep slots -> undo/   (or, after an ABORT, journal removed)
//
// Every arrow can be interrupted: the next run starts from the top and looks only at contents.

namespace galley {
namespace {

using Kind = RecoveryAction::Kind;

/// The index of a fold's slots.
size_t index_of(const JournaledPath& fold) {
  return static_cast<size_t>(fold.op - fold.journal->ops.data());
}

class Recoverer {
 public:
  Recoverer(const WritableDirectory& workspace, const StateDirectory& state, WriterLock& lock,
            const RecoveryOptions& options)
      : workspace_(workspace), state_(state), lock_(lock), options_(options), view_(workspace) {}

  Result<RecoveryReport> run();

 private:
  Result<void> read_journals();
  Result<void> drop_torn();
  Result<void> sync_journals();
  Result<void> restore_tree();
  Result<void> write_unflushed();
  Result<void> write_anew(const JournaledPath& fold);
  Result<void> clear_way(JournaledPath& fold);
  Result<void> clear_directory(const JournaledPath& fold, const Seen& seen);
  Result<void> make_missing_directory(const JournaledPath& fold);
  Result<void> put_content(const JournaledPath& fold);
  Result<void> set_directory_mode(const JournaledPath& fold);
  Result<void> remove_known(const JournaledPath& fold, const Seen& seen);
  Result<void> put(const JournaledPath& fold, const Seen& seen);
  Result<void> swap_in(const JournaledPath& fold, const Seen& seen, const Slots& slots,
                       const RelPath& slot);
  Result<Content> content_of(const Node& node) const;
  Result<void> finish();
  Result<void> note_applied(const JournalVerdict& verdict);
  Result<void> forget_aborted(const JournalVerdict& verdict);
  Result<Seen> look(const JournaledPath& fold) {
    return galley::look(fold, view_, options_.dry_run);
  }
  void report(Kind kind, const JournaledPath& fold, std::string text);
  /// Never fails. A caller that is done returns what it returns.
  Result<void> keep(const JournaledPath& fold) {
    report(Kind::kKeepForeign, fold, "holds what Galley never put there; it is left alone");
    return {};
  }

  const WritableDirectory& workspace_;
  const StateDirectory& state_;
  WriterLock& lock_;
  const RecoveryOptions& options_;
  const std::string session_ = state_.session(options_.boot_id);
  WorkspaceView view_;
  bool is_note_stale_ = false;  ///< the last-transaction note in the lock file
  std::vector<TxId> torn_;
  std::vector<TxId> orphans_;               ///< slots without a journal
  std::vector<JournalVerdict> unfinished_;  ///< ascending
  std::vector<JournalVerdict> unflushed_;   ///< finished, and a flush of their tree failed
  JournaledPaths folds_;
  OpenedDirectories opened_;
  std::map<TxId, std::vector<JournalNote>> notes_;
  RecoveryReport report_;
};

void Recoverer::report(Kind kind, const JournaledPath& fold, std::string text) {
  const TxId id = fold.journal->id;
  const std::string& path = fold.op->path.str();
  if (kind == Kind::kKeepForeign || kind == Kind::kRescue) notes_[id].push_back({path, text});
  report_.actions.push_back({kind, id, path, std::move(text)});
}

Error damaged_error(TxId id, const std::string& problem) {
  return Error{ErrorKind::kIo, "journal.damaged",
               "the journal of transaction " + id.str() + " was committed and is damaged now: " +
                   problem + "; nothing was touched, `galley doctor --repair` sets it aside",
               ".galley/j/" + journal_name(id).str(), 0};
}

Result<RecoveryReport> Recoverer::run() {
  GALLEY_TRY(read_journals());
  if (!options_.dry_run) GALLEY_TRY(drop_torn());
  if (!unfinished_.empty()) {
    if (!options_.dry_run) GALLEY_TRY(sync_journals());
    folds_ = merge_journals(unfinished_, session_);
    GALLEY_TRY(restore_tree());
  }
  GALLEY_TRY(write_unflushed());
  GALLEY_TRY(finish());
  if (is_note_stale_ && !options_.dry_run) {
    GALLEY_ASSIGN(const TxId last, last_transaction(state_, lock_, ""));
    lock_.remember(last, session_);
  }
  return std::move(report_);
}

Result<void> Recoverer::read_journals() {
  GALLEY_ASSIGN(const auto ids, journal_ids(state_.journals()));
  const auto settled = lock_.last_transaction(session_);
  Error damaged;
  for (const TxId id : ids) {
    // The process that noted this id under the same boot had completed it: later differences are
    // the user's changes.
    if (settled && id <= *settled && !is_mutant(Mutant::kRedoFinished)) continue;
    is_note_stale_ = true;
    GALLEY_ASSIGN(JournalVerdict verdict, read_journal(state_, state_.journals(), id));
    if (verdict.state == JournalState::kNotCommitted) {
      torn_.push_back(id);
      report_.actions.push_back(
          {Kind::kDropJournal, id, "", "never committed: " + verdict.problem});
    } else if (verdict.state == JournalState::kDamaged) {
      damaged = damaged_error(id, verdict.problem);
      report_.actions.push_back({Kind::kDamagedJournal, id, "", verdict.problem});
    } else if (!is_same_session(verdict.journal.applied_boot.value_or(""), session_) ||
               verdict.journal.is_aborted || is_mutant(Mutant::kRedoFinished)) {
      unfinished_.push_back(std::move(verdict));
    } else if (is_same_session(verdict.journal.unflushed_boot.value_or(""), session_)) {
      unflushed_.push_back(std::move(verdict));
    }
  }
  if (!damaged.reason.empty() && !options_.dry_run) return damaged;
  for (const auto* verdicts : {&unfinished_, &unflushed_}) {
    GALLEY_TRY(check_journal_rules(workspace_, state_, *verdicts, JournalTrust::kOwn));
  }
  GALLEY_ASSIGN(const auto slots, state_.slots().list());
  for (const auto& entry : slots) {
    const auto id = TxId::from_file_name(entry.name);
    if (!id || std::binary_search(ids.begin(), ids.end(), *id)) continue;
    orphans_.push_back(*id);
    report_.actions.push_back({Kind::kSweepSlots, *id, "", "prepared and never committed"});
  }
  return {};
}

Result<void> Recoverer::drop_torn() {
  const auto slot_path = [](TxId id) { return *RelPath::parse(id.file_name()); };
  for (const TxId id : torn_) {
    GALLEY_TRY(remove_tree(state_.slots(), slot_path(id)));
    GALLEY_TRY(state_.journals().remove_file(journal_name(id)));
  }
  for (const TxId id : orphans_) GALLEY_TRY(remove_tree(state_.slots(), slot_path(id)));
  // A torn journal must not reappear under an id that is used again.
  return torn_.empty() ? Result<void>() : state_.journals().sync();
}

Result<void> Recoverer::sync_journals() {
  if (is_mutant(Mutant::kNoSyncBeforeRecovery)) return {};
  for (const auto& verdict : unfinished_) {
    GALLEY_ASSIGN(const Slots slots, Slots::open_or_create(state_, verdict.journal.id));
    // A flush of it may have failed in an earlier run, and a second flush would not report that.
    GALLEY_TRY(slots.replace_by_copy(state_.journals(), journal_name(verdict.journal.id)));
  }
  return state_.journals().sync();
}

Result<void> Recoverer::restore_tree() {
  constexpr bool kLate = is_mutant(Mutant::kRmdirAfterPut);
  if constexpr (kLate) {
    for (auto at = folds_.rbegin(); at != folds_.rend(); ++at) GALLEY_TRY(put_content(at->second));
  }
  if (!options_.dry_run) GALLEY_TRY(opened_.open(folds_, view_));
  for (auto at = folds_.rbegin(); at != folds_.rend(); ++at) GALLEY_TRY(clear_way(at->second));
  view_.forget();
  for (const auto& [path, fold] : folds_) GALLEY_TRY(make_missing_directory(fold));
  for (const auto& [path, fold] : folds_) {
    if (!kLate) GALLEY_TRY(put_content(fold));
  }
  for (auto at = folds_.rbegin(); at != folds_.rend(); ++at) {
    GALLEY_TRY(set_directory_mode(at->second));
  }
  return opened_.close(folds_, view_);
}

Result<void> Recoverer::clear_way(JournaledPath& fold) {
  const FileKind wanted = fold.target.node.kind;
  GALLEY_ASSIGN(const Seen seen, look(fold));
  if (seen.node.kind == FileKind::kAbsent || seen.node.kind == wanted) return {};
  if (seen.node.kind == FileKind::kDirectory) return clear_directory(fold, seen);
  // Files and links are exchanged with each other later, in one step.
  if (wanted != FileKind::kAbsent && wanted != FileKind::kDirectory) return {};
  GALLEY_ASSIGN(const PathState path_state, judge(fold, seen, view_));
  if (path_state == PathState::kKnown) return remove_known(fold, seen);
  if (wanted == FileKind::kAbsent || !has_content_below(folds_, fold.op->path)) return keep(fold);
  if (!options_.dry_run) {
    GALLEY_ASSIGN(const Location at, view_.locate(fold.op->path));
    GALLEY_TRY(rescue(state_, fold.journal->id, *at.directory, at.name, fold.op->path,
                      notes_[fold.journal->id]));
  }
  report(Kind::kRescue, fold, "was in the place of a directory and was moved to rescue");
  return {};
}

Result<void> Recoverer::clear_directory(const JournaledPath& fold, const Seen& seen) {
  if (!is_known_kind(fold, seen.node.kind)) return keep(fold);
  if (options_.dry_run) {
    report(Kind::kRemoveDirectory, fold, "would be removed if nothing else is in it");
    return {};
  }
  GALLEY_ASSIGN(const Location at, view_.locate(fold.op->path));
  GALLEY_ASSIGN(const RemovedDirectories removed_directories, RemovedDirectories::find(state_));
  auto removed = removed_directories.remove(*at.directory, at.name);
  view_.forget();
  if (removed) {
    report(Kind::kRemoveDirectory, fold, "removed");
    return {};
  }
  if (removed.error().os_error != ENOTEMPTY && removed.error().os_error != EEXIST) return removed;
  if (fold.target.node.kind == FileKind::kAbsent) {
    report(Kind::kKeepForeign, fold, "still holds files that Galley did not put there; it stays");
    return {};
  }
  GALLEY_ASSIGN(const Location again, view_.locate(fold.op->path));
  GALLEY_TRY(rescue(state_, fold.journal->id, *again.directory, again.name, fold.op->path,
                    notes_[fold.journal->id]));
  report(Kind::kRescue, fold, "had foreign files where a file has to be and was moved to rescue");
  return {};
}

Result<void> Recoverer::remove_known(const JournaledPath& fold, const Seen& seen) {
  report(Kind::kRemove, fold, "removed");
  if (options_.dry_run) return {};
  GALLEY_ASSIGN(const Slots slots, Slots::open_or_create(state_, fold.journal->id));
  GALLEY_ASSIGN(const RelPath slot, slots.free_name(index_of(fold), fold.op->path));
  GALLEY_ASSIGN(const Location at, view_.locate(fold.op->path));
  auto taken = at.directory->rename(at.name, slots.directory(), slot, RenameMode::kNoReplace);
  if (!taken && is_unsupported(taken.error())) {
    taken = at.directory->rename(at.name, slots.directory(), slot, RenameMode::kReplace);
  }
  if (!taken && taken.error().os_error == ENOENT) return {};
  GALLEY_TRY(taken);
  GALLEY_ASSIGN(const bool is_seen, is_as_seen(fold, seen, {&slots.directory(), slot}));
  if (is_seen) return {};
  // Another program saved it in the last instant. It is put back, or goes to rescue if another
  // object has its path again.
  static_cast<void>(keep(fold));
  auto back = slots.directory().rename(slot, *at.directory, at.name, RenameMode::kNoReplace);
  if (!back && back.error().os_error == EEXIST) return {};
  return back;
}

Result<void> Recoverer::make_missing_directory(const JournaledPath& fold) {
  if (fold.target.node.kind != FileKind::kDirectory) return {};
  GALLEY_ASSIGN(const Seen seen, look(fold));
  if (seen.node.kind != FileKind::kAbsent) return {};
  const bool is_expected =
      is_known_kind(fold, FileKind::kAbsent) || (options_.dry_run && !seen.is_reachable);
  if (!is_expected) return keep(fold);
  report(Kind::kMakeDirectory, fold, "made");
  if (options_.dry_run) return {};
  GALLEY_ASSIGN(const Slots slots, Slots::open_or_create(state_, fold.journal->id));
  auto at = view_.locate(fold.op->path);
  if (!at && at.error().kind == ErrorKind::kNotFound) return keep(fold);
  if (!at) return at.error();
  GALLEY_ASSIGN(const FileStat parent, at->directory->stat(RelPath::root()));
  Slots::WriteOptions how;
  how.has_set_group_id = (parent.mode & kSetGroupId) != 0;
  GALLEY_ASSIGN(const RelPath slot,
                slots.write_complete(index_of(fold), fold.op->path, fold.target, nullptr, how));
  auto placed = slots.directory().rename(slot, *at->directory, at->name, RenameMode::kNoReplace);
  if (!placed && is_unsupported(placed.error())) {
    placed = slots.directory().rename(slot, *at->directory, at->name, RenameMode::kReplace);
  }
  if (!placed && placed.error().os_error == EEXIST) return {};
  return placed;
}

Result<void> Recoverer::put_content(const JournaledPath& fold) {
  const FileKind wanted = fold.target.node.kind;
  if (wanted != FileKind::kRegular && wanted != FileKind::kSymlink) return {};
  GALLEY_ASSIGN(const Seen seen, look(fold));
  GALLEY_ASSIGN(const PathState path_state, judge(fold, seen, view_));
  if (path_state == PathState::kDone) return fold.is_unflushed ? write_anew(fold) : Result<void>();
  if (path_state == PathState::kForeign) return keep(fold);
  // A torn inode may also lack its owner and attributes, so it is made again. So is an inode with
  // other names, possibly outside the workspace, which must keep their mode.
  const bool is_whole =
      (fold.op->before.node.content == fold.op->after.node.content || !fold.may_be_torn) &&
      seen.stat.nlink <= 1 && seen.node.owner == fold.target.node.owner;
  if (is_whole && seen.node.kind == wanted && seen.node.content == fold.target.node.content) {
    report(Kind::kSetMode, fold, "mode set");
    if (options_.dry_run) return {};
    GALLEY_ASSIGN(const Location at, view_.locate(fold.op->path));
    return at.directory->set_mode(at.name, fold.target.node.mode);
  }
  report(Kind::kPut, fold, fold.is_backward ? "put back" : "put in place");
  return options_.dry_run ? Result<void>() : put(fold, seen);
}

Result<Content> Recoverer::content_of(const Node& node) const {
  for (const auto* verdicts : {&unfinished_, &unflushed_}) {
    for (const auto& verdict : *verdicts) {
      const auto found = verdict.journal.images.find(node.content);
      if (found != verdict.journal.images.end()) return found->second;
    }
  }
  return read_blob(state_.root(), state_.own("blob"), node.content);
}

Result<void> Recoverer::put(const JournaledPath& fold, const Seen& seen) {
  GALLEY_ASSIGN(const Content content, content_of(fold.target.node));
  GALLEY_ASSIGN(const Slots slots, Slots::open_or_create(state_, fold.journal->id));
  std::optional<RelPath> slot;
  if (fold.is_backward) {
    GALLEY_ASSIGN(slot, slots.caught(index_of(fold), fold.target));
  }
  Slots::WriteOptions how;
  if (gets_only_owner(*fold.op)) how.mtime_ns = fold.op->before.mtime_ns;
  if (!slot) {
    GALLEY_ASSIGN(slot,
                  slots.write_complete(index_of(fold), fold.op->path, fold.target, content, how));
  }
  return swap_in(fold, seen, slots, *slot);
}

Result<void> Recoverer::swap_in(const JournaledPath& fold, const Seen& seen, const Slots& slots,
                                const RelPath& slot) {
  auto located = view_.locate(fold.op->path);
  if (!located && (located.error().kind == ErrorKind::kNotFound ||
                   located.error().os_error == ENOTDIR || located.error().os_error == ELOOP))
    return keep(fold);
  if (!located) return located.error();
  const Location& at = *located;
  const WritableDirectory& own = slots.directory();
  if (seen.node.kind == FileKind::kAbsent) {
    auto placed = own.rename(slot, *at.directory, at.name, RenameMode::kNoReplace);
    if (!placed && is_unsupported(placed.error())) {
      placed = own.make_hard_link(slot, *at.directory, at.name);
      if (placed) return own.remove_file(slot);
    }
    if (!placed && placed.error().os_error == EEXIST) return keep(fold);
    return placed;
  }
  RelPath caught = slot;
  auto swapped = own.rename(slot, *at.directory, at.name, RenameMode::kExchange);
  if (!swapped && is_unsupported(swapped.error())) {
    caught = Slots::name(index_of(fold), ".x" + slot.str());
    GALLEY_TRY(at.directory->make_hard_link(at.name, own, caught));
    swapped = own.rename(slot, *at.directory, at.name, RenameMode::kReplace);
  }
  if (!swapped && swapped.error().os_error == ENOENT) return keep(fold);
  GALLEY_TRY(swapped);
  GALLEY_ASSIGN(const bool is_seen, is_as_seen(fold, seen, {&own, caught}));
  if (is_seen) return {};
  static_cast<void>(keep(fold));
  return own.rename(caught, *at.directory, at.name,
                    caught == slot ? RenameMode::kExchange : RenameMode::kReplace);
}

Result<void> Recoverer::write_unflushed() {
  const JournaledPaths folds = merge_journals(unflushed_, session_);
  OpenedDirectories opened;
  if (!options_.dry_run) GALLEY_TRY(opened.open(folds, view_));
  for (const auto& [path, fold] : folds) GALLEY_TRY(write_anew(fold));
  return options_.dry_run ? Result<void>() : opened.close(folds, view_);
}

/// The tree was complete once, so later differences from the journal are the user's changes.
Result<void> Recoverer::write_anew(const JournaledPath& fold) {
  GALLEY_ASSIGN(const Seen seen, look(fold));
  GALLEY_ASSIGN(const PathState path_state, judge(fold, seen, view_));
  if (path_state != PathState::kDone) return {};
  // A change of mode keeps the time of the last write, unless it broke a hard link.
  const JournalSide& before = fold.op->before;
  // A change of owner keeps it too, but in a new inode.
  const bool is_broken_link = before.node.kind == FileKind::kRegular &&
                              before.node.content == seen.node.content &&
                              (before.mtime_ns != seen.stat.mtime_ns || fold.has_owner);
  if (!is_written_by_us(fold) && !is_broken_link) return {};
  report(Kind::kPut, fold, "written anew, because a flush of it may have failed");
  return options_.dry_run ? Result<void>() : put(fold, seen);
}

Result<void> Recoverer::set_directory_mode(const JournaledPath& fold) {
  if (fold.target.node.kind != FileKind::kDirectory) return {};
  GALLEY_ASSIGN(const Seen seen, look(fold));
  if (seen.node.kind != FileKind::kDirectory) return {};
  const bool is_wrong_owner =
      seen.node.owner != fold.target.node.owner && is_known_owner(fold, seen);
  if (seen.node.mode == fold.target.node.mode && !is_wrong_owner) return {};
  const char* const what = is_wrong_owner ? "owner and mode set" : "mode set";
  if (options_.dry_run) {
    report(Kind::kSetMode, fold, what);
    return {};
  }
  GALLEY_ASSIGN(const Location at, view_.locate(fold.op->path));
  // As Applier::set_mode(): another program may give its name to a file.
  const auto own = open_seen_directory(at, seen.stat);
  const int code = own ? 0 : own.error().os_error;
  if (code == ENOENT || code == ENOTDIR || code == ELOOP) return keep(fold);
  if (!own) return own.error();
  report(Kind::kSetMode, fold, what);
  if (is_wrong_owner) {
    const auto set = (*own)->set_owner(RelPath::root(), fold.target.uid, fold.target.gid);
    const int why = set ? 0 : set.error().os_error;
    const bool is_refused = why == EPERM || why == EINVAL;
    const Node::Owner wanted{fold.target.uid, fold.target.gid};
    if (is_refused) return owner_not_recovered(fold.op->path, wanted, why);
    GALLEY_TRY(set);
  }
  GALLEY_ASSIGN(const FileStat parent, at.directory->stat(RelPath::root()));
  GALLEY_ASSIGN(const uint32_t special, restore_inheritance(fold, seen, **own, parent));
  return (*own)->set_mode(RelPath::root(), fold.target.node.mode | special);
}

Result<void> Recoverer::finish() {
  std::vector<TxId> finished;
  for (const auto* verdicts : {&unfinished_, &unflushed_}) {
    for (const auto& verdict : *verdicts) {
      report_.actions.push_back({Kind::kFinishJournal, verdict.journal.id, "",
                                 verdict.journal.is_aborted ? "taken back" : "completed",
                                 !verdict.journal.applied_boot});
      if (options_.dry_run || verdict.journal.is_aborted) continue;
      GALLEY_TRY(note_applied(verdict));
      finished.push_back(verdict.journal.id);
    }
  }
  if (options_.dry_run) return {};
  GALLEY_ASSIGN(const auto rescued,
                retire(workspace_, state_, lock_, finished, {session_, options_.audit}));
  for (const auto& note : rescued) {
    report_.actions.push_back({Kind::kRescue, TxId(), note.path, note.text});
  }
  for (const auto& verdict : unfinished_) {
    if (verdict.journal.is_aborted) GALLEY_TRY(forget_aborted(verdict));
  }
  return {};
}

Result<void> Recoverer::note_applied(const JournalVerdict& verdict) {
  const TxId id = verdict.journal.id;
  GALLEY_ASSIGN(const auto file,
                state_.journals().open_writable_file(journal_name(id), OpenMode::kReadWrite));
  JournalTrailer trailer(*file, verdict);
  for (const auto& note : notes_[id]) GALLEY_TRY(trailer.note(note));
  return trailer.applied(session_);
}

/// Runs only after the old tree is on the disk: without the journal, recovery could not tell it
/// from the new one.
Result<void> Recoverer::forget_aborted(const JournalVerdict& verdict) {
  GALLEY_TRY(workspace_.sync_file_system());
  std::vector<JournalNote> rescued;
  GALLEY_TRY(sweep_slots(state_, verdict.journal, verdict.journal.boot != session_, rescued));
  for (const auto& note : rescued) {
    report_.actions.push_back({Kind::kRescue, verdict.journal.id, note.path, note.text});
  }
  GALLEY_TRY(state_.journals().remove_file(journal_name(verdict.journal.id)));
  return state_.journals().sync();
}

/// Where nothing can be written, a reader goes on if no commit needs recovery. A completed one does
/// not, also after another boot: what a power cut took is for the next writer to find.
/// Errors: kIo `journal.damaged`; `why`, with the journal of a commit that needs recovery.
Result<RecoveryReport> report_of_read_only(const StateDirectory& state,
                                           const std::vector<TxId>& journals, Error why) {
  const auto lock = state.root().open_file(chosen_path("lock"));
  if (lock) {
    GALLEY_ASSIGN(const bool is_free, (*lock)->try_lock(LockMode::kShared));
    // The writer has the disk mounted elsewhere.
    if (!is_free) return RecoveryReport();
  }
  for (const TxId id : journals) {
    GALLEY_ASSIGN(const JournalVerdict verdict,
                  read_journal(state, state.journals(), id, ImageUse::kSkip));
    if (verdict.state == JournalState::kDamaged) return damaged_error(id, verdict.problem);
    const Journal& journal = verdict.journal;
    const bool is_over = verdict.state == JournalState::kNotCommitted ||
                         (journal.applied_boot && !journal.is_aborted);
    if (is_over) continue;
    why.path = ".galley/j/" + journal_name(id).str();
    why.message = "the commit of transaction " + id.str() + " needs recovery, but its journal '" +
                  why.path + "' is on a read-only file system; make it writable first";
    return why;
  }
  return RecoveryReport();
}

}  // namespace

Result<RecoveryReport> recover(const WritableDirectory& workspace, const StateDirectory& state,
                               WriterLock& lock, const RecoveryOptions& options) {
  return Recoverer(workspace, state, lock, options).run();
}

Result<RecoveryReport> recover_if_needed(const WritableDirectory& workspace,
                                         const StateDirectory& state, const Clock& clock,
                                         const RecoveryOptions& options) {
  GALLEY_ASSIGN(const auto journals, journal_ids(state.journals()));
  GALLEY_ASSIGN(const auto slots, state.slots().list());
  if (journals.empty() && slots.empty()) return RecoveryReport();
  auto lock = WriterLock::take(state, clock, std::chrono::milliseconds(0));
  // A live writer has not crashed: it finishes its own work.
  if (!lock && lock.error().kind == ErrorKind::kTimeout) return RecoveryReport();
  const bool is_read_only = !lock && lock.error().os_error == EROFS;
  if (is_read_only) return report_of_read_only(state, journals, lock.error());
  if (!lock) return lock.error();
  return recover(workspace, state, *lock, options);
}

}  // namespace galley
