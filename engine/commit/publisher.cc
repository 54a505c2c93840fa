#include "engine/commit/publisher.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

#include "base/file_mode.h"
#include "base/result.h"
#include "engine/commit/apply.h"
#include "engine/commit/base_check.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/inheritance.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/mutant.h"
#include "engine/commit/plan.h"
#include "engine/commit/recovery.h"
#include "engine/commit/retire.h"
#include "engine/commit/slots.h"
#include "engine/commit/workspace_view.h"
#include "engine/commit/writer_lock.h"
#include "staging/overlay/change_set.h"

// The state machine of one commit. Arrows are functions; below each state is the tree after a
// crash:
//
//   kIdle --lock, recover--> kLocked --check_bases--> kChecked --write_slots--> kPrepared
//   old                      old        |             old                       old (slots swept)
//                                       +--> Conflict
//
//   kPrepared --write_journal--> kCommitted --apply--> kApplied --finish--> Receipt
//   old            |             new             |     new
//                  +--> Error (old)              +--> conflict or failure: abort --> kAborting
//
//   kAborting --undo--> Conflict or Error (old)
//   old once ABORT is durable, else new
//       |
//       +--> a failure of abort or undo: kUndecided (75); the next open finishes, in the direction
//            that the journal says
//
// Invariants, each with a test in tests/crash that fails without it:
//   I1  No path of the workspace changes before the journal and its directory are synced.
//   I2  The journal holds both images of every path, even when its content does not change: the
//       history is judged and shown without reading the tree.
//   I3  Nothing is displaced without being kept: exchange first, then check the caught object.
//   I4  From a durable ABORT record on, recovery goes backward; without one, forward.
//   I5  A file whose sync failed is removed, never synced again.
//   I6  Recovery derives everything from contents; it syncs a journal before acting on it.
//   I7  A journal leaves j/ only after the tree it describes was synced.
//   I8  At most two flushes in a commit, however many files (contents over kMaxImageBytes aside).

namespace galley {

namespace {

constexpr uint64_t kMaxHeldBytes = uint64_t{64} << 20U;
constexpr const char* kStateLost = "commit.state_lost";

}  // namespace

/// One run of publish(): its state between the steps.
class Publisher::Attempt {
 public:
  Attempt(const Publisher& publisher, const Proposal& proposal, Plan plan, StateDirectory state)
      : publisher_(publisher),
        proposal_(proposal),
        state_(std::move(state)),
        view_(*publisher.workspace_),
        plan_(std::move(plan)) {
    boot_ = publisher.options_.boot_id ? *publisher.options_.boot_id : current_boot_id();
    session_ = state_.session(boot_);
  }

  Result<PublishOutcome> run(const CommitMeta& meta);

 private:
  Result<void> lock_and_recover();
  Result<PublishOutcome> record_made(const CommitMeta& meta);
  Result<void> look_for_runs();
  Result<void> check_links();
  [[nodiscard]] std::map<size_t, int64_t> times_in_order() const;
  Result<void> write_slots(const CommitMeta& meta);
  Result<void> restore_metadata(Inheritance& inheritance, const CommitMeta& meta);
  Result<void> describe(const CommitMeta& meta);
  Result<void> write_journal();
  Result<void> write_images(JournalWriter& writer);
  Result<void> commit_point();
  Result<std::optional<ConflictPath>> apply();
  Result<PublishOutcome> abort(const Result<std::optional<ConflictPath>>& cause);
  Result<void> roll_back(const std::string& reason);
  Receipt finish();
  void clear_slots();
  Error take_journal_away(Error cause);
  [[nodiscard]] Error undecided(const Error& cause) const;
  [[nodiscard]] std::string touched_paths() const;
  [[nodiscard]] bool is_journal_there() const;
  void warn_of(const std::string& path, const std::string& text) {
    met_.push_back("'" + path + "': " + text);
  }
  [[nodiscard]] const PublisherOptions& options() const { return publisher_.options_; }

  const Publisher& publisher_;
  const Proposal& proposal_;
  StateDirectory state_;
  WorkspaceView view_;
  std::string boot_;
  std::string session_;
  std::optional<WriterLock> own_lock_;
  WriterLock* lock_ = nullptr;
  RemovedDirectories removed_directories_;
  Plan plan_;
  CheckedBases bases_;
  std::optional<Slots> slots_;
  Journal journal_;
  std::unique_ptr<WritableFile> journal_file_;
  std::optional<JournalTrailer> trailer_;
  Applier::Contents base_contents_;  ///< of the journal's images, within a size limit
  uint64_t held_bytes_ = 0;
  std::optional<Applier> applier_;
  std::vector<std::string> warnings_;  ///< of the new inodes
  std::vector<std::string> met_;       ///< foreign files, and where they are now
};

Result<void> PublisherOptions::check_not_stopped() const {
  if (!stop.stop_requested()) return {};
  return fail(ErrorKind::kTimeout, "commit.cancelled",
              "the commit was cancelled; nothing of it is on disk");
}

Publisher::Publisher(const WritableDirectory& workspace, const Clock& clock,
                     PublisherOptions options)
    : workspace_(&workspace), clock_(&clock), options_(std::move(options)) {}

namespace {

std::optional<Conflict> conflict_of(std::vector<ConflictPath> changed,
                                    std::vector<ConflictPath> read) {
  if (changed.empty() && read.empty()) return std::nullopt;
  Conflict conflict;
  if (changed.empty()) conflict.reason = "conflict.read_changed";
  conflict.paths = std::move(changed);
  std::move(read.begin(), read.end(), std::back_inserter(conflict.paths));
  return conflict;
}

}  // namespace

Result<std::optional<Conflict>> Publisher::find_conflict(const Proposal& proposal) const {
  GALLEY_ASSIGN(Plan plan, make_plan(proposal.changes()));
  WorkspaceView view(*workspace_);
  GALLEY_ASSIGN(CheckedBases bases, check_bases(proposal.changes(), plan, view));
  GALLEY_ASSIGN(auto reads, check_reads(proposal.reads(), view));
  return conflict_of(std::move(bases.conflicts), std::move(reads));
}

Result<PublishOutcome> Publisher::publish(const Proposal& proposal, const Approval& approval,
                                          const CommitMeta& meta) {
  GALLEY_CHECK(approval.proposal() == proposal.id());
  // Check this before anything is written: an empty or malformed change set leaves no trace.
  GALLEY_ASSIGN(Plan plan, make_plan(proposal.changes()));
  GALLEY_ASSIGN(auto state, StateDirectory::open_or_create(*workspace_));
  return Attempt(*this, proposal, std::move(plan), std::move(state)).run(meta);
}

Result<PublishOutcome> Publisher::Attempt::run(const CommitMeta& meta) {
  GALLEY_TRY(lock_and_recover());
  if (options().is_in_place) return record_made(meta);
  GALLEY_TRY(look_for_runs());
  GALLEY_ASSIGN(bases_, check_bases(proposal_.changes(), plan_, view_));
  GALLEY_ASSIGN(auto reads, check_reads(proposal_.reads(), view_));
  if (auto conflict = conflict_of(std::move(bases_.conflicts), std::move(reads))) {
    conflict->warnings = std::move(met_);
    return PublishOutcome(*std::move(conflict));
  }
  GALLEY_TRY(check_links());
  GALLEY_TRY(describe(meta));
  GALLEY_TRY(check_journal_limits(journal_));
  if (removed_directories_.is_there()) GALLEY_TRY(options().pin_views(proposal_.changes()));
  if (auto written = write_slots(meta); !written) {
    clear_slots();
    return written.error();
  }
  if (auto written = write_journal(); !written) return written.error();
  if (options().before_apply) options().before_apply();
  auto conflict = apply();
  if (conflict && !*conflict) {
    if (options().after_apply) options().after_apply();
    return PublishOutcome(finish());
  }
  auto outcome = abort(conflict);
  if (options().after_apply) options().after_apply();
  return outcome;
}

/// The states of this commit are kChecked, kCommitted and Receipt: the tree is the new one in all.
Result<PublishOutcome> Publisher::Attempt::record_made(const CommitMeta& meta) {
  GALLEY_ASSIGN(auto misfits, check_made(proposal_.changes(), plan_, view_));
  if (!misfits.empty()) {
    Conflict conflict;
    conflict.paths = std::move(misfits);
    conflict.warnings = std::move(met_);
    return PublishOutcome(std::move(conflict));
  }
  GALLEY_TRY(describe(meta));
  GALLEY_TRY(check_journal_limits(journal_));
  GALLEY_TRY(write_journal());
  return PublishOutcome(finish());
}

Result<void> Publisher::Attempt::lock_and_recover() {
  lock_ = options().lock;
  if (lock_ == nullptr) {
    GALLEY_ASSIGN(own_lock_, WriterLock::take(state_, *publisher_.clock_, options().lock_timeout));
    lock_ = &*own_lock_;
  }
  RecoveryOptions recovery;
  recovery.boot_id = boot_;
  recovery.audit = options().audit;
  const WritableDirectory& workspace = *publisher_.workspace_;
  GALLEY_ASSIGN(const RecoveryReport report, recover(workspace, state_, *lock_, recovery));
  for (const auto& action : report.actions) {
    if (action.kind == RecoveryAction::Kind::kRescue) warn_of(action.path, action.text);
  }
  GALLEY_ASSIGN(const auto rescued, retire_due(workspace, state_, *lock_, *publisher_.clock_,
                                               {session_, options().audit}));
  for (const auto& note : rescued) warn_of(note.path, note.text);
  GALLEY_ASSIGN(journal_.parent, last_transaction(state_, *lock_, session_));
  journal_.id.value = journal_.parent.value + 1;
  return {};
}

/// A live view must not lose a directory that it reads, nor find an inode under another name.
Result<void> Publisher::Attempt::look_for_runs() {
  if (!options().pin_views) return {};
  GALLEY_ASSIGN(removed_directories_, RemovedDirectories::find(state_));
  if (!removed_directories_.is_there()) return {};
  GALLEY_ASSIGN(plan_, make_plan(proposal_.changes(), InodeUse::kNew));
  return {};
}

Result<void> Publisher::Attempt::check_links() {
  for (auto& step : plan_.steps) {
    const JournalOp& op = plan_.ops[step.op];
    const bool is_mode = step.kind == StepKind::kMode;
    // A renamed file with another content or mode is a new one.
    const bool is_placed = step.kind == StepKind::kPlace && op.renamed_from.has_value();
    const JournalOp* const old = is_placed ? op_at(plan_.ops, *op.renamed_from) : &op;
    const bool breaks = (step.kind == StepKind::kExchange || is_mode || is_placed) &&
                        old != nullptr && old->before.node.kind == FileKind::kRegular &&
                        bases_.stats[static_cast<size_t>(old - plan_.ops.data())].nlink > 1;
    if (!breaks) continue;
    const std::string kept = old->before.node.content != op.after.node.content ? "the old content"
                             : old->before.node.mode != op.after.node.mode     ? "the old mode"
                             : is_placed                                       ? "the old file"
                                                                               : "the old owner";
    if (options().hard_links == HardLinks::kRefuse) {
      return fail(ErrorKind::kRefused, "commit.hard_link",
                  "'" + op.path.str() + "' has other hard links, which would keep " + kept +
                      "; unlink them or set hard_links = \"break\"",
                  op.path.str());
    }
    // A mode belongs to the inode: a change in place would also change the other names.
    if (is_mode) step.kind = StepKind::kExchange;
    warnings_.push_back(broken_links(op.path, kept));
  }
  return {};
}

/// Objects that an undo restores get the owner, group and attributes that its journal recorded. If
/// that journal was pruned meanwhile, they get what the directory passes on.
Result<void> Publisher::Attempt::restore_metadata(Inheritance& inheritance,
                                                  const CommitMeta& meta) {
  if (!meta.undoes) return {};
  std::vector<TxId> ids = {*meta.undoes};
  ids.insert(ids.end(), meta.also_undoes.begin(), meta.also_undoes.end());
  for (const TxId id : ids) {
    auto undone = load_committed(state_, id, ImageUse::kSkip);
    if (!undone && undone.error().kind != ErrorKind::kNotFound) return undone.error();
    if (undone) inheritance.restore_metadata(undone->journal);
  }
  return {};
}

/// Modification times that keep the order in which files were written, if a command wrote one of
/// them: with equal times, make would treat an output that is older than its source as up to date.
/// The last one is the time of the slots, so none is later than the journal: objects newer than the
/// journal are not ours. By index of the operation.
std::map<size_t, int64_t> Publisher::Attempt::times_in_order() const {
  std::map<size_t, int64_t> times;
  bool has_command = false;
  for (const size_t index : plan_.slots()) {
    const JournalOp& op = plan_.ops[index];
    if (op.after.node.kind != FileKind::kRegular) continue;
    const Change* change = find_change(proposal_.changes(), op.path);
    const Change::WriteTime written = change == nullptr ? Change::WriteTime() : change->written;
    has_command = has_command || written.by_command;
    times[index] = written.ns == 0 ? INT64_MAX : written.ns;  // unknown, for example just merged
  }
  if (!has_command) return {};
  std::set<int64_t> distinct;
  for (const auto& [index, ns] : times) distinct.insert(ns);
  std::map<int64_t, int64_t> given;
  for (auto at = distinct.rbegin(); at != distinct.rend(); ++at) {
    given[*at] = slots_->ours().mtime_ns - static_cast<int64_t>(given.size());
  }
  for (auto& [index, ns] : times) ns = given.at(ns);
  return times;
}

Error owner_not_set(const JournalOp& op) {
  return Error{ErrorKind::kRefused, "owner.not_permitted",
               "this file system does not let '" + op.path.str() + "' belong to " +
                   owner_text(*op.after.node.owner) + "; leave its owner out of the change",
               op.path.str(), 0};
}

Result<void> Publisher::Attempt::write_slots(const CommitMeta& meta) {
  GALLEY_ASSIGN(slots_, Slots::create(state_, journal_.id));
  Inheritance inheritance(plan_, *publisher_.workspace_, slots_->ours());
  GALLEY_TRY(restore_metadata(inheritance, meta));
  for (auto& op : plan_.ops) GALLEY_TRY(inheritance.fill(op));
  const auto times = times_in_order();
  for (const size_t index : plan_.slots()) {
    JournalOp& op = plan_.ops[index];
    op.after.special = inheritance.special_bits_of(op);
    Content content;
    Slots::WriteOptions how;
    const ContentStore& contents = *proposal_.store();
    if (op.after.node.kind == FileKind::kRegular && op.after.node.size > kMaxImageBytes) {
      how.fill = [&](WritableFile& file) { return contents.write(op.after.node.content, file); };
    } else if (is_file_or_link(op.after.node)) {
      GALLEY_ASSIGN(content, proposal_.content(op.after.node));
    }
    if (const auto time = times.find(index); time != times.end()) how.mtime_ns = time->second;
    if (gets_only_owner(op)) how.mtime_ns = op.before.mtime_ns;
    if (op.after.node.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(how.has_set_group_id, inheritance.has_set_group_id(op.path));
    }
    GALLEY_ASSIGN(const Slots::ObjectMetadata given,
                  slots_->write(Slots::name(index), op.path, op.after, content, how, warnings_));
    if (op.after.node.owner && op.after.node.owner != Owner{given.uid, given.gid}) {
      return owner_not_set(op);
    }
    // The journal records the actual values. Otherwise recovery would change correct objects.
    op.after.uid = given.uid;
    op.after.gid = given.gid;
    op.after.node.mode = given.mode;
    op.after.special = given.special;
  }
  return {};
}

Result<void> Publisher::Attempt::write_images(JournalWriter& writer) {
  std::set<ContentId> done;
  for (const auto& op : journal_.ops) {
    for (const Node* node : {&op.before.node, &op.after.node}) {
      if (!is_file_or_link(*node) || !done.insert(node->content).second) continue;
      if (node->size > kMaxImageBytes) continue;
      GALLEY_ASSIGN(const Content content, proposal_.content(*node));
      GALLEY_TRY(writer.image(node->content, *content));
      if (node != &op.before.node || held_bytes_ + node->size > kMaxHeldBytes) continue;
      held_bytes_ += node->size;
      base_contents_.emplace(node->content, content);
    }
  }
  for (const auto& [id, size] : journal_.blobs) GALLEY_TRY(writer.blob(id, size));
  return {};
}

Result<void> Publisher::Attempt::describe(const CommitMeta& meta) {
  journal_.workspace = state_.workspace_id();
  journal_.boot = session_;
  journal_.proposal = proposal_.id();
  journal_.meta = meta;
  journal_.ops = plan_.ops;
  if (!options().records) return {};
  GALLEY_ASSIGN(auto records, options().records(journal_.id));
  std::move(records.begin(), records.end(), std::back_inserter(journal_.meta.audit));
  return {};
}

Result<void> Publisher::Attempt::write_journal() {
  journal_.time_ns = publisher_.clock_->wall_ns();
  journal_.ops = plan_.ops;  // with the inherited metadata of new inodes
  const auto prepare = [&]() -> Result<void> {
    // Blobs first: the journal may only name durable contents.
    GALLEY_ASSIGN(journal_.blobs,
                  write_blobs(state_.root(), state_.own("blob"), journal_.ops, *proposal_.store()));
    GALLEY_ASSIGN(journal_file_,
                  state_.journals().open_writable_file(journal_name(journal_.id),
                                                       OpenMode::kCreateNew, kPrivateFile));
    return {};
  };
  if (auto prepared = prepare(); !prepared) {
    clear_slots();
    return prepared;
  }
  const auto write = [&]() -> Result<void> {
    // The file system's own clock, later than every slot: objects newer than this are not ours.
    GALLEY_ASSIGN(const FileStat stat, journal_file_->stat());
    journal_.stamp_ns = stat.mtime_ns;
    JournalWriter writer(*journal_file_);
    GALLEY_TRY(writer.begin(journal_));
    GALLEY_TRY(write_images(writer));
    GALLEY_TRY(writer.finish());
    trailer_.emplace(*journal_file_, writer);
    GALLEY_TRY(options().check_not_stopped());
    return is_mutant(Mutant::kApplyBeforeCommit) ? Result<void>() : commit_point();
  };
  auto written = write();
  if (!written) return take_journal_away(std::move(written.error()));
  return {};
}

Result<void> Publisher::Attempt::commit_point() {
  switch (options().durability) {
    case Durability::kFull:
      if (!is_mutant(Mutant::kJournalNotSynced)) GALLEY_TRY(journal_file_->sync_data());
      if (is_mutant(Mutant::kJournalNameNotSynced)) return {};
      return state_.journals().sync();
    case Durability::kGroup:
      return state_.journals().sync_file_system();
    case Durability::kNone:
      break;
  }
  return {};
}

/// After a failed write or sync the next open must not find the journal.
Error Publisher::Attempt::take_journal_away(Error cause) {
  journal_file_.reset();
  const auto removed = state_.journals().remove_file(journal_name(journal_.id));
  if (!removed) return undecided(cause);
  if (options().durability != Durability::kNone) {
    if (const auto synced = state_.journals().sync(); !synced) return undecided(cause);
  }
  clear_slots();
  return cause;
}

Error Publisher::Attempt::undecided(const Error& cause) const {
  Error error = cause;
  if (is_mutant(Mutant::kUndecidedIsFailure)) return error;
  error.kind = ErrorKind::kUndecided;
  error.reason = "commit.undecided";
  error.message = "transaction " + journal_.id.str() +
                  " failed after its commit point and could not be put back (" + cause.message +
                  "); ";
  if (is_journal_there() && cause.reason != kStateLost) {
    error.message += "the next galley command completes it or takes it back";
    return error;
  }
  error.reason = kStateLost;
  error.message +=
      "another process removed '.galley', or a part of it, meanwhile: unless .galley/j/" +
      journal_name(journal_.id).str() +
      " is still there no galley command completes it or takes it back. Look at what it was to "
      "change: " +
      touched_paths();
  return error;
}

/// Whether the next open would find the journal after a crash. Looks by path, since our descriptors
/// stay valid when the file is deleted.
bool Publisher::Attempt::is_journal_there() const {
  const auto path =
      RelPath::parse(std::string(StateDirectory::kName) + "/j/" + journal_name(journal_.id).str());
  const auto stat = publisher_.workspace_->stat(*path);
  return !stat || stat->kind == FileKind::kRegular;
}

std::string Publisher::Attempt::touched_paths() const {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, plan_.ops.size()); ++i) {
    text += (i == 0 ? "'" : ", '") + plan_.ops[i].path.str() + "'";
  }
  const size_t more = plan_.ops.size() - std::min(kShown, plan_.ops.size());
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

void Publisher::Attempt::clear_slots() {
  slots_.reset();
  // Nothing was swapped, so these are our own new inodes. The next open sweeps those that cannot be
  // removed now.
  auto path = RelPath::parse(journal_.id.file_name());
  static_cast<void>(remove_tree(state_.slots(), *path));
}

Result<std::optional<ConflictPath>> Publisher::Attempt::apply() {
  applier_.emplace(plan_, bases_, view_, *slots_, base_contents_);
  applier_->move_removed_to(removed_directories_);
  return applier_->run();
}

Result<PublishOutcome> Publisher::Attempt::abort(const Result<std::optional<ConflictPath>>& cause) {
  const std::string reason = cause ? (*cause)->message : cause.error().message;
  if (auto rolled = roll_back(reason); !rolled) {
    return undecided(cause ? rolled.error() : cause.error());
  }
  if (!cause) {
    Error error = cause.error();
    for (const auto& warning : met_) error.message += "; " + warning;
    return fail(std::move(error));
  }
  Conflict conflict;
  conflict.paths.push_back(**cause);
  conflict.warnings = std::move(met_);
  return PublishOutcome(std::move(conflict));
}

Result<void> Publisher::Attempt::roll_back(const std::string& reason) {
  GALLEY_TRY(trailer_->abort(reason));
  if (options().durability != Durability::kNone) GALLEY_TRY(journal_file_->sync_data());
  GALLEY_TRY(applier_->undo());
  met_.insert(met_.end(), applier_->warnings().begin(), applier_->warnings().end());
  journal_.is_aborted = true;
  std::vector<JournalNote> notes;
  GALLEY_TRY(sweep_slots(state_, journal_, false, notes));
  for (const auto& note : notes) warn_of(note.path, note.text);
  // The swaps may be on the disk already and their inverses not. Without the journal, recovery
  // could not tell the two apart.
  if (options().durability != Durability::kNone && !is_mutant(Mutant::kForgetBeforeSync)) {
    GALLEY_TRY(publisher_.workspace_->sync_file_system());
  }
  const auto removed = state_.journals().remove_file(journal_name(journal_.id));
  // It is harmless if another process removed it, because the old tree is in place.
  if (!removed && removed.error().os_error != ENOENT) return removed;
  if (options().durability != Durability::kNone) return state_.journals().sync();
  return {};
}

Receipt Publisher::Attempt::finish() {
  // Not synced, and a failure does not fail the commit: without this record the next open compares
  // every path again and finds all of them new.
  static_cast<void>(trailer_->applied(session_));
  lock_->remember(journal_.id, session_);
  if (options().audit != nullptr && !journal_.meta.audit.empty()) {
    // The records are durable in the journal, so a failure here does not fail the commit.
    const auto added = options().audit->add(journal_.meta.audit);
    if (!added) {
      warnings_.push_back("the audit log could not be written (" + added.error().message +
                          "); the record is in the journal of this transaction");
    }
  }
  if (!is_journal_there()) {
    warnings_.push_back(
        "another process removed '.galley' meanwhile: the change is made, and there is no history "
        "to take it back with");
  }
  Receipt receipt;
  receipt.id = journal_.id;
  receipt.proposal = proposal_.id();
  receipt.time_ns = journal_.time_ns;
  receipt.changes = proposal_.changes();
  receipt.warnings = std::move(met_);
  receipt.warnings.insert(receipt.warnings.end(), warnings_.begin(), warnings_.end());
  return receipt;
}

}  // namespace galley
