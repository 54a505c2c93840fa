#include "engine/commit/apply.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/file_mode.h"
#include "base/result.h"
#include "engine/commit/mutant.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

constexpr std::string_view kOld = Slots::kOldSuffix;
constexpr std::string_view kBack = ".back";
constexpr std::string_view kKeep = Slots::kKeepSuffix;

/// Whether a rename failed as it does when another program interferes.
bool is_interference(const Error& error) {
  switch (error.os_error) {
    case EEXIST:
    case ENOENT:
    case ENOTEMPTY:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
      return true;
    default:
      return false;
  }
}

/// Returns the cause without the call, which may name a slot: people know only the path.
std::string cause_of(const Error& error) { return std::generic_category().message(error.os_error); }

Error naming(const RelPath& path, Error error) {
  if (error.os_error == 0) return error;
  error.message = "cannot change '" + path.str() + "': " + cause_of(error);
  error.path = path.str();
  return error;
}

/// This is precise enough before a swap. After a swap only the content is, because the rename
/// itself has set the change time.
bool is_same_object(const FileStat& a, const FileStat& b) {
  return a.kind == b.kind && a.inode == b.inode && a.size == b.size && a.mtime_ns == b.mtime_ns &&
         a.ctime_ns == b.ctime_ns && (a.mode & kPermissionBits) == (b.mode & kPermissionBits);
}

/// Lists the entries of a directory for a message.
Result<std::string> names_in(const Directory& directory, const RelPath& name) {
  constexpr size_t kShown = 5;
  GALLEY_ASSIGN(const auto opened, directory.open_directory(name));
  GALLEY_ASSIGN(const auto entries, opened->list());
  std::string text;
  for (size_t i = 0; i < std::min(kShown, entries.size()); ++i) {
    text += (i == 0 ? "'" : ", '") + entries[i].name + "'";
  }
  if (entries.size() <= kShown) return text;
  return text + " and " + std::to_string(entries.size() - kShown) + " more";
}

Error state_lost(const RelPath& path) {
  return Error{ErrorKind::kIo, "commit.state_lost",
               "the old '" + path.str() + "' is gone from .galley/slot", path.str(), 0};
}

}  // namespace

bool is_unsupported(const Error& error) {
  return error.os_error == EINVAL || error.os_error == ENOSYS || error.os_error == EOPNOTSUPP ||
         error.os_error == EXDEV;
}

Result<std::optional<ConflictPath>> Applier::run() {
  done_.reserve(plan_->steps.size());
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    auto conflict = apply(i);
    if (conflict && !*conflict) continue;
    if (conflict) return conflict;
    const JournalOp& here = op(plan_->steps[i]);
    if (!is_interference(conflict.error())) return fail(naming(here.path, conflict.error()));
    GALLEY_ASSIGN(const Location at, view_->locate(here.path));
    auto found = observe(at);
    ConflictPath path = make_conflict(here.path, here.before.node, found ? *found : Node());
    path.message = "'" + here.path.str() + "' changed while it was being committed (" +
                   cause_of(conflict.error()) + ")";
    return std::optional<ConflictPath>(std::move(path));
  }
  return std::optional<ConflictPath>();
}

/// Finds a change that is already visible before anything moves, which saves most swap-backs.
Result<std::optional<ConflictPath>> Applier::look_before(const Step& step,
                                                         const Location& at) const {
  const JournalOp& here = op(step);
  if (here.before.node.kind == FileKind::kAbsent) return std::optional<ConflictPath>();
  // This step closes a new directory of ours: its base was displaced when the directory was placed.
  const bool is_closing =
      step.kind == StepKind::kMode && here.before.node.kind != here.after.node.kind;
  if (is_closing) return std::optional<ConflictPath>();
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  if (stat.kind == FileKind::kDirectory && here.before.node.kind == FileKind::kDirectory) {
    const Node node = with_owner_like(here.before.node, here.before.node, stat);
    if (node == here.before.node) return std::optional<ConflictPath>();
    return std::optional<ConflictPath>(make_conflict(here.path, here.before.node, node));
  }
  if (is_same_object(stat, bases_->stats[step.op])) return std::optional<ConflictPath>();
  GALLEY_ASSIGN(const Node found, observe(at, stat));
  const Node node = with_owner_like(found, here.before.node, stat);
  if (node == here.before.node) return std::optional<ConflictPath>();
  return std::optional<ConflictPath>(make_conflict(here.path, here.before.node, node));
}

Result<std::optional<ConflictPath>> Applier::apply(size_t index) {
  const Step& step = plan_->steps[index];
  const JournalOp& here = op(step);
  GALLEY_ASSIGN(const Location at, view_->locate(here.path));
  GALLEY_ASSIGN(auto conflict, look_before(step, at));
  if (conflict) return conflict;
  current_ = index;
  switch (step.kind) {
    case StepKind::kExchange:
      GALLEY_TRY(exchange(step, at));
      break;
    case StepKind::kPlace:
      GALLEY_TRY(place(Slots::name(step.op), at));
      mark(StepMethod::kPlain);
      break;
    case StepKind::kMove:
      GALLEY_TRY(move(step));
      break;
    case StepKind::kCatch:
      GALLEY_TRY(take(at, Slots::name(step.op)));
      mark(StepMethod::kPlain);
      break;
    case StepKind::kMode:
      GALLEY_TRY(set_mode(step, at));
      break;
    case StepKind::kOpen:
      GALLEY_TRY(at.directory->set_mode(at.name, base_mode(step.op) | kOwnerAll));
      opened_.insert(step.op);
      mark(StepMethod::kPlain);
      break;
    case StepKind::kRemoveDirectory:
      GALLEY_TRY(removed_directories_.remove(*at.directory, at.name));
      mark(StepMethod::kPlain);
      view_->forget();
      break;
  }
  return look(step, done_.back().method);
}

Result<void> Applier::place(const RelPath& slot, const Location& at) const {
  const WritableDirectory& slots = slots_->directory();
  auto placed = slots.rename(slot, *at.directory, at.name, RenameMode::kNoReplace);
  if (placed || !is_unsupported(placed.error())) return placed;
  // A hard link never replaces anything either, and works for symbolic links; a directory can only
  // be renamed, onto nothing or onto an empty directory.
  GALLEY_ASSIGN(const FileStat stat, slots.stat(slot));
  if (stat.kind == FileKind::kDirectory) {
    return slots.rename(slot, *at.directory, at.name, RenameMode::kReplace);
  }
  GALLEY_TRY(slots.make_hard_link(slot, *at.directory, at.name));
  // The second name in the slots is harmless, and the sweep removes it.
  static_cast<void>(slots.remove_file(slot));
  return {};
}

Result<void> Applier::take(const Location& at, const RelPath& slot) const {
  const WritableDirectory& slots = slots_->directory();
  auto taken = at.directory->rename(at.name, slots, slot, RenameMode::kNoReplace);
  if (taken || !is_unsupported(taken.error()) || taken.error().os_error == EXDEV) return taken;
  // Only we use the slot directory, so nothing can be in the way.
  return at.directory->rename(at.name, slots, slot, RenameMode::kReplace);
}

/// Undoes a placing that may be incomplete.
Result<void> Applier::take_if_there(const Location& at, const RelPath& slot) const {
  const WritableDirectory& slots = slots_->directory();
  GALLEY_ASSIGN(const FileStat placed, at.directory->stat(at.name));
  if (placed.kind == FileKind::kAbsent) return {};
  GALLEY_ASSIGN(const FileStat ours, slots.stat(slot));
  if (ours.kind != FileKind::kAbsent) {
    // Both names have one inode: a rename between them would do nothing.
    if (ours.inode != placed.inode) return {};
    GALLEY_TRY(slots.remove_file(slot));
  }
  return take(at, slot);
}

Result<void> Applier::move(const Step& step) {
  const RelPath& from = plan_->ops[step.source].path;
  auto moved = rename(from, op(step).path);
  if (moved) mark(StepMethod::kPlain);
  if (moved || !is_unsupported(moved.error()) || moved.error().os_error == EXDEV) return moved;
  // Make a second name first, so that nothing is replaced and nothing is ever missing.
  GALLEY_ASSIGN(const auto target, parent_of(op(step).path));
  GALLEY_ASSIGN(const Location source, view_->locate(from));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(op(step).path.name()));
  GALLEY_TRY(source.directory->make_hard_link(source.name, *target, name));
  mark(StepMethod::kLinked);
  return take(source, Slots::name(step.op, kOld));
}

Result<void> Applier::undo_move(const Step& step, StepMethod method) {
  const RelPath& from = plan_->ops[step.source].path;
  const RelPath& to = op(step).path;
  Result<void> undone;
  if (method == StepMethod::kPlain) {
    undone = rename(to, from);
    if (undone || undone.error().os_error != EEXIST) return undone;
    GALLEY_ASSIGN(const Location at, view_->locate(to));
    return take(at, Slots::name(step.op, kKeep));
  }
  GALLEY_ASSIGN(const Location source, view_->locate(from));
  undone = place(Slots::name(step.op, kOld), source);
  if (!undone && undone.error().os_error == ENOENT) undone = {};  // it was never moved
  if (!undone && undone.error().os_error == EEXIST) {
    undone = slots_->directory().rename(Slots::name(step.op, kOld), slots_->directory(),
                                        Slots::name(step.op, kKeep), RenameMode::kReplace);
  }
  GALLEY_TRY(undone);
  GALLEY_ASSIGN(const Location at, view_->locate(to));
  return take(at, Slots::name(step.op));
}

/// The view keeps a parent only until its next call, but a rename needs two at once.
Result<std::unique_ptr<WritableDirectory>> Applier::parent_of(const RelPath& path) {
  GALLEY_ASSIGN(const Location at, view_->locate(path));
  return at.directory->open_writable_directory(RelPath::root());
}

Result<void> Applier::rename(const RelPath& from, const RelPath& to) {
  GALLEY_ASSIGN(const auto source, parent_of(from));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(from.name()));
  GALLEY_ASSIGN(const Location target, view_->locate(to));
  return source->rename(name, *target.directory, target.name, RenameMode::kNoReplace);
}

Result<void> Applier::exchange(const Step& step, const Location& at) {
  const WritableDirectory& slots = slots_->directory();
  const RelPath slot = Slots::name(step.op);
  const JournalOp& here = op(step);
  auto swapped = slots.rename(slot, *at.directory, at.name, RenameMode::kExchange);
  const bool is_directory =
      here.before.node.kind == FileKind::kDirectory || here.after.node.kind == FileKind::kDirectory;
  if (is_directory) view_->forget();
  if (swapped) mark(StepMethod::kPlain);
  if (swapped || !is_unsupported(swapped.error())) return swapped;
  GALLEY_ASSIGN(const Location again, view_->locate(here.path));
  if (here.before.node.kind == FileKind::kDirectory) {
    // Its children are already removed. It is not renamed, because overlayfs does not allow that
    // for a directory of a lower layer.
    GALLEY_TRY(removed_directories_.remove(*again.directory, again.name));
    mark(StepMethod::kRemoved);
    return place(slot, again);
  }
  const RelPath old = Slots::name(step.op, kOld);
  if (here.after.node.kind == FileKind::kDirectory) {
    GALLEY_TRY(take(again, old));
    mark(StepMethod::kTaken);
    return place(slot, again);
  }
  // The path is never missing for readers; only a save between the two calls is lost.
  GALLEY_TRY(again.directory->make_hard_link(again.name, slots, old));
  mark(StepMethod::kLinked);
  return slots.rename(slot, *again.directory, again.name, RenameMode::kReplace);
}

/// The mode is last: chown(2) clears bits of it, and it belongs to the new owner. Both are set
/// through one descriptor: the name may get a file of another user meanwhile, which must not become
/// a program that runs with the rights of the given owner. For the same reason no setuid bit stays.
Result<void> Applier::set_mode(const Step& step, const Location& at) {
  const JournalOp& here = op(step);
  const bool is_new = here.before.node.kind != here.after.node.kind;
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  if (here.after.node.kind != FileKind::kDirectory) {  // its owner never changes in place
    GALLEY_TRY(at.directory->set_mode(at.name, here.after.node.mode | (stat.mode & kSpecialBits)));
    mark(StepMethod::kPlain);
    return {};
  }
  GALLEY_ASSIGN(const auto own, open_seen_directory(at, is_new ? stat : bases_->stats[step.op]));
  const uint32_t mode = here.after.node.mode | (stat.mode & kKeptSpecialBits);
  if (changes_owner(here.before.node, here.after.node)) {
    GALLEY_TRY(own->set_owner(RelPath::root(), here.after.uid, here.after.gid));
    mark(StepMethod::kPlain);
    return own->set_mode(RelPath::root(), mode);
  }
  GALLEY_TRY(own->set_mode(RelPath::root(), mode));
  mark(StepMethod::kPlain);
  return {};
}

Result<std::optional<ConflictPath>> Applier::look(const Step& step, StepMethod method) {
  const JournalOp& here = op(step);
  Location at{&slots_->directory(), Slots::name(step.op)};
  if (is_mutant(Mutant::kNoLookAfterSwap)) return std::optional<ConflictPath>();
  const JournalSide opened = as_opened(step.op);
  const JournalSide* expected = &opened;
  switch (step.kind) {
    case StepKind::kPlace:
    case StepKind::kMode:
    case StepKind::kOpen:
    case StepKind::kRemoveDirectory:
      return std::optional<ConflictPath>();
    case StepKind::kMove: {
      GALLEY_ASSIGN(at, view_->locate(here.path));
      expected = &plan_->ops[step.source].before;
      break;
    }
    case StepKind::kExchange:
      if (method == StepMethod::kRemoved) return std::optional<ConflictPath>();
      if (method != StepMethod::kPlain) at.name = Slots::name(step.op, kOld);
      break;
    case StepKind::kCatch:
      break;
  }
  if (step.kind == StepKind::kMove && method == StepMethod::kLinked) {
    // The old name was caught after the new one was made, so it includes a save between the two.
    const Location old{&slots_->directory(), Slots::name(step.op, kOld)};
    GALLEY_ASSIGN(auto conflict, look_at(old, here.path, *expected));
    if (conflict) return conflict;
  }
  return look_at(at, here.path, *expected);
}

/// Whether a file has the known content, byte for byte, and the expected mode. Also returns false
/// if that is unknown. Then the content is hashed, which decides and gives the node for the report.
bool Applier::has_bytes(const Location& at, const Node& expected) const {
  const auto known = contents_->find(expected.content);
  if (expected.kind != FileKind::kRegular || known == contents_->end()) return false;
  const auto file = at.directory->open_file(at.name);
  if (!file) return false;
  const auto stat = (*file)->stat_at_open();
  if (!stat || stat->size != expected.size || (stat->mode & kPermissionBits) != expected.mode) {
    return false;
  }
  if (expected.owner && expected.owner != owner_of(*stat)) return false;
  const auto bytes = (*file)->read_at(0, known->second->size() + 1);
  return bytes && *bytes == *known->second;
}

Result<std::optional<ConflictPath>> Applier::look_at(const Location& at, const RelPath& path,
                                                     const JournalSide& expected) const {
  // Always by content: a save may keep size and mtime, and a store to a memory mapping sets
  // neither.
  const bool is_caught = at.directory == &slots_->directory();
  if (is_caught && has_bytes(at, expected.node)) return std::optional<ConflictPath>();
  GALLEY_ASSIGN(Node caught, is_caught ? observe_slot(at) : observe(at));
  if (expected.node.owner) {
    GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
    caught = with_owner(caught, owner_of(stat));
  }
  bool is_base = caught == expected.node;
  if (is_base && caught.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const auto directory, at.directory->open_directory(at.name));
    GALLEY_ASSIGN(const auto entries, directory->list());
    is_base = entries.empty();
  }
  if (is_base) return std::optional<ConflictPath>();
  return std::optional<ConflictPath>(make_conflict(path, expected.node, caught));
}

Result<void> Applier::undo() {
  view_->forget();
  while (!done_.empty()) {
    GALLEY_TRY(undo_one(done_.back()));
    done_.pop_back();
  }
  return {};
}

Result<void> Applier::undo_one(const DoneStep& done) {
  const Step& step = plan_->steps[done.step];
  const JournalOp& here = op(step);
  const WritableDirectory& slots = slots_->directory();
  auto located = view_->locate(here.path);
  // The directory was removed meanwhile, so nothing can be put back.
  if (!located && is_interference(located.error())) return {};
  if (!located) return located.error();
  const Location at = *located;
  Result<void> undone;
  switch (step.kind) {
    case StepKind::kExchange:
      undone = undo_exchange(step, done.method);
      break;
    case StepKind::kPlace:
      undone = undo_place(step, at);
      break;
    case StepKind::kMove:
      undone = undo_move(step, done.method);
      break;
    case StepKind::kCatch:
      GALLEY_TRY(check_caught(Slots::name(step.op), here.path));
      undone = place(Slots::name(step.op), at);
      break;
    case StepKind::kMode:
      undone = undo_mode(step, at);
      break;
    case StepKind::kOpen:
      undone = at.directory->set_mode(at.name, base_mode(step.op));
      break;
    case StepKind::kRemoveDirectory:
      undone = undo_remove(step.op, at);
      break;
  }
  if (undone) return {};
  const int code = undone.error().os_error;
  // A new object is at the caught object's path. It stays, and the caught object goes to rescue.
  if (code == EEXIST && step.kind == StepKind::kCatch) {
    return slots.rename(Slots::name(step.op), slots, Slots::name(step.op, kKeep),
                        RenameMode::kReplace);
  }
  // Our object was removed or filled meanwhile: there is nothing to put back.
  if (code == EEXIST || code == ENOENT || code == ENOTEMPTY || code == ENOTDIR) return {};
  return undone;
}

Result<void> Applier::check_caught(const RelPath& slot, const RelPath& path) const {
  GALLEY_ASSIGN(const FileStat caught, slots_->directory().stat(slot));
  if (caught.kind == FileKind::kAbsent) return state_lost(path);
  return {};
}

Result<void> Applier::undo_place(const Step& step, const Location& at) {
  const RelPath& path = op(step).path;
  if (is_mutant(Mutant::kRollbackDeletesTree)) {
    GALLEY_TRY(remove_tree(*at.directory, at.name));
  }
  if (op(step).after.node.kind == FileKind::kDirectory) {
    view_->forget();
    GALLEY_ASSIGN(const Location again, view_->locate(path));
    auto removed = again.directory->remove_directory(again.name);
    if (removed || (removed.error().os_error != ENOTEMPTY && removed.error().os_error != EEXIST)) {
      return removed;
    }
    // Files that other programs saved there stay in place.
    GALLEY_ASSIGN(const std::string names, names_in(*again.directory, again.name));
    warnings_.push_back("'" + path.str() + "' stays: other programs have put " + names +
                        " into it meanwhile");
    return {};
  }
  auto taken = take_if_there(at, Slots::name(step.op));
  if (taken || taken.error().os_error != ENOENT) return taken;
  GALLEY_ASSIGN(const FileStat left, at.directory->stat(at.name));
  if (left.kind != FileKind::kAbsent) return state_lost(path);  // the slots are gone
  return {};
}

Result<void> Applier::undo_exchange(const Step& step, StepMethod method) {
  const WritableDirectory& slots = slots_->directory();
  const RelPath slot = Slots::name(step.op);
  const RelPath old = Slots::name(step.op, kOld);
  view_->forget();
  GALLEY_ASSIGN(const Location here, view_->locate(op(step).path));
  if (method != StepMethod::kRemoved) {
    GALLEY_TRY(check_caught(method == StepMethod::kPlain ? slot : old, op(step).path));
  }
  switch (method) {
    case StepMethod::kPlain: {
      auto back = slots.rename(slot, *here.directory, here.name, RenameMode::kExchange);
      // The new object was deleted meanwhile; the old one is put back anyway.
      if (!back && back.error().os_error == ENOENT) return place(slot, here);
      return back;
    }
    case StepMethod::kLinked: {
      auto linked = here.directory->make_hard_link(here.name, slots, slot);
      // Our new inode is still in its slot: nothing was replaced.
      if (!linked && linked.error().os_error == EEXIST) return {};
      GALLEY_TRY(linked);
      return slots.rename(old, *here.directory, here.name, RenameMode::kReplace);
    }
    case StepMethod::kTaken:
      GALLEY_TRY(take_if_there(here, slot));
      return place(old, here);
    case StepMethod::kRemoved:
      GALLEY_TRY(take_if_there(here, slot));
      return undo_remove(step.op, here);
  }
  return {};
}

/// The directory's contents are put back after this.
Result<void> Applier::undo_mode(const Step& step, const Location& at) const {
  const JournalOp& here = op(step);
  const bool is_new = here.before.node.kind != here.after.node.kind;
  if (here.after.node.kind != FileKind::kDirectory) {
    return at.directory->set_mode(at.name, bases_->stats[step.op].mode);
  }
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  GALLEY_ASSIGN(const auto own, open_seen_directory(at, is_new ? stat : bases_->stats[step.op]));
  uint32_t mode = is_new ? here.after.node.mode : base_mode(step.op);
  if (is_new || opened_.count(step.op) != 0) mode |= kOwnerAll;
  if (changes_owner(here.before.node, here.after.node)) {
    GALLEY_TRY(own->set_owner(RelPath::root(), here.before.uid, here.before.gid));
  }
  return own->set_mode(RelPath::root(), mode);
}

/// The `before` side of an operation while the directory is open.
JournalSide Applier::as_opened(size_t index) const {
  JournalSide side = plan_->ops[index].before;
  if (opened_.count(index) != 0) side.node.mode |= kOwnerAll;
  return side;
}

/// Made in the slots first, like every new object, so it gets its owner and attributes at once.
Result<void> Applier::undo_remove(size_t index, const Location& at) const {
  const JournalSide before = as_opened(index);
  const RelPath slot = Slots::name(index, kBack);
  const uint32_t special = base_mode(index) & kKeptSpecialBits;
  std::vector<std::string> unkept;
  GALLEY_ASSIGN(const Slots::ObjectMetadata given,
                slots_->write(slot, plan_->ops[index].path, before, nullptr, {}, unkept));
  GALLEY_TRY(place(slot, at));
  return at.directory->set_mode(at.name, given.mode | special);
}

}  // namespace galley
