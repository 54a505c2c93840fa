#include "engine/commit/recovery_fold.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/file_mode.h"
#include "engine/commit/mutant.h"
#include "engine/commit/slots.h"
#include "staging/fs/user_state.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

bool is_same_content(const Node& a, const Node& b) {
  return a.kind == b.kind && a.content == b.content;
}

/// Whether the object was written after the commit. Our own inodes are older than the journal, and
/// an old object that kept its timestamp is recognised by it.
bool is_newer(const JournaledPath& fold, const Seen& seen) {
  if (seen.node.kind != FileKind::kRegular && seen.node.kind != FileKind::kSymlink) return false;
  if (seen.stat.mtime_ns <= fold.journal->stamp_ns) return false;
  if (is_mutant(Mutant::kIgnoreTimestamps)) return false;
  return std::ranges::none_of(fold.known, [&](const JournaledPath::Image& image) {
    return image.mtime_ns == seen.stat.mtime_ns && is_same_content(image.node, seen.node);
  });
}

bool is_stat_of(const JournaledPath& fold, const JournaledPath::Image& image, const Seen& seen) {
  if (image.node.kind != FileKind::kRegular) return false;
  // A power cut may leave less than was written, and may lose its mode.
  if (fold.may_be_torn) return seen.node.size <= image.node.size;
  return image.node.mode == seen.node.mode && image.node.size == seen.node.size;
}

PathState judge_unreadable(const JournaledPath& fold, const Seen& seen) {
  const bool keeps_time = std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return image.mtime_ns == seen.stat.mtime_ns && is_stat_of(fold, image, seen);
  });
  if (seen.stat.mtime_ns > fold.journal->stamp_ns && !keeps_time) {
    // An object that an earlier recovery put is newer too, and complete: it was flushed before it
    // was renamed into place.
    const Node& target = fold.target.node;
    const bool is_target = seen.node.mode == target.mode && seen.node.size == target.size &&
                           target.kind == FileKind::kRegular;
    return is_target ? PathState::kDone : PathState::kForeign;
  }
  bool is_image = false;
  bool is_other = fold.may_be_torn;
  for (const auto& image : fold.known) {
    if (!is_stat_of(fold, image, seen)) continue;
    is_image = true;
    is_other = is_other || image.node != fold.target.node;
  }
  if (!is_image) return PathState::kForeign;
  return is_other ? PathState::kKnown : PathState::kDone;
}

/// The result of look() for a regular file that could not be read.
Seen unreadable(const JournaledPath& fold, const FileStat& stat) {
  Seen seen;
  seen.stat = stat;
  seen.is_reachable = true;
  seen.node = Node{FileKind::kRegular, stat.mode & kPermissionBits, ContentId(), stat.size};
  // When only the mode was changed, the content is known.
  const Node& target = fold.target.node;
  const bool is_same = std::ranges::all_of(fold.known, [&](const JournaledPath::Image& image) {
    return is_same_content(image.node, target);
  });
  const bool is_whole = is_same && stat.size == target.size;
  if (is_whole) seen.node.content = target.content;
  if (fold.has_owner) seen.node.owner = owner_of(stat);
  seen.is_unreadable = !is_whole;
  return seen;
}

/// Whether an object that could not be read before is one of our images.
Result<bool> is_ours(const JournaledPath& fold, const Location& caught, const Node& node) {
  const bool is_image = std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return is_same_content(image.node, node);
  });
  const bool can_be_torn = fold.may_be_torn && node.kind == FileKind::kRegular;
  if (is_image || !can_be_torn || node.size > kMaxImageBytes) return is_image;
  GALLEY_ASSIGN(const std::string bytes, read_slot(caught));
  return std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return is_torn_image(bytes, *image.journal, *image.op);
  });
}

/// The paths whose owner a journal changes.
std::set<RelPath> paths_with_owner(const std::vector<JournalVerdict>& journals) {
  std::set<RelPath> paths;
  for (const auto& verdict : journals) {
    for (const auto& op : verdict.journal.ops) {
      if (op.before.node.owner || op.after.node.owner) paths.insert(op.path);
    }
  }
  return paths;
}

}  // namespace

JournaledPaths merge_journals(const std::vector<JournalVerdict>& journals,
                              const std::string& session) {
  JournaledPaths folds;
  const std::set<RelPath> owned = paths_with_owner(journals);
  for (const auto& verdict : journals) {
    const Journal& journal = verdict.journal;
    const bool is_unflushed = is_same_session(journal.unflushed_boot.value_or(""), session) &&
                              !is_mutant(Mutant::kUnflushedIsWritten);
    for (const auto& op : journal.ops) {
      JournaledPath& fold = folds[op.path];
      fold.journal = &journal;
      fold.op = &op;
      fold.is_backward = journal.is_aborted && !is_mutant(Mutant::kAbortGoesForward);
      fold.has_owner = owned.contains(op.path);
      const auto node_of = [&fold](const JournalSide& side) {
        return fold.has_owner ? with_owner(side.node, {side.uid, side.gid}) : side.node;
      };
      fold.target = fold.is_backward ? op.before : op.after;
      fold.target.node = node_of(fold.target);
      fold.may_be_torn = fold.may_be_torn || journal.boot != session || session.empty();
      fold.is_unflushed = fold.is_unflushed || is_unflushed;
      fold.known.push_back({node_of(op.before), op.before.mtime_ns, &journal, &op});
      fold.known.push_back({node_of(op.after), 0, &journal, &op});
      if (!op.renamed_from) continue;
      // A moved inode keeps the timestamp it had under its old name.
      for (const auto& source : journal.ops) {
        if (source.path == *op.renamed_from) fold.known.back().mtime_ns = source.before.mtime_ns;
      }
    }
  }
  return folds;
}

Result<Seen> look(const JournaledPath& fold, WorkspaceView& view, bool is_dry) {
  const auto is_nothing = [](const Error& error) {
    return error.os_error == ENOENT || error.os_error == ENOTDIR || error.os_error == ELOOP;
  };
  auto at = view.locate(fold.op->path);
  // A dry run does not open closed directories either.
  const bool is_hidden = !at && is_dry && at.error().os_error == EACCES;
  if (is_hidden || (!at && is_nothing(at.error()))) return Seen{};
  if (!at) return at.error();
  Seen seen;
  seen.is_reachable = true;
  auto node = observe(*at, &seen.stat);
  if (!node && is_nothing(node.error())) return Seen{{}, {}, true};
  if (!node && node.error().os_error == EACCES && seen.stat.kind == FileKind::kRegular) {
    return unreadable(fold, seen.stat);
  }
  if (!node && node.error().os_error == EACCES && is_dry) return Seen{};
  if (!node) return node.error();
  seen.node = fold.has_owner ? with_owner(*node, owner_of(seen.stat)) : *node;
  return seen;
}

Result<bool> is_as_seen(const JournaledPath& fold, const Seen& seen, const Location& caught) {
  const auto node = observe_slot(caught);
  if (!node && node.error().os_error == EACCES) return false;  // owned by another user
  if (!node) return node.error();
  if (seen.is_unreadable) return is_ours(fold, caught, *node);
  Node expected = seen.node;
  expected.owner.reset();
  return *node == expected;
}

Result<void> OpenedDirectories::open(const JournaledPaths& folds, WorkspaceView& view) {
  // Parents come first.
  for (const auto& [path, fold] : folds) GALLEY_TRY(open_one(folds, fold, view));
  return {};
}

/// Opens a directory that its owner may not change or search, if recovery works below it or removes
/// it.
Result<void> OpenedDirectories::open_one(const JournaledPaths& folds, const JournaledPath& fold,
                                         WorkspaceView& view) {
  const RelPath& path = fold.op->path;
  const bool is_at_work =
      fold.target.node.kind != FileKind::kDirectory || has_path_below(folds, path);
  if (!is_at_work || !is_known_kind(fold, FileKind::kDirectory)) return {};
  const auto at = view.locate(path);
  if (!at) return {};  // the code that needs it reports the reason
  GALLEY_ASSIGN(const FileStat stat, at->directory->stat(at->name));
  const bool is_closed = stat.kind == FileKind::kDirectory && (stat.mode & kOwnerAll) != kOwnerAll;
  if (!is_closed || !at->directory->set_mode(at->name, (stat.mode & ~kSetUserId) | kOwnerAll))
    return {};
  modes_.emplace(path, stat.mode);
  return {};
}

Result<void> OpenedDirectories::close(const JournaledPaths& folds, WorkspaceView& view) {
  for (auto at = folds.rbegin(); at != folds.rend(); ++at) {
    const auto& [path, fold] = *at;
    uint32_t closed = fold.target.node.mode;
    if (fold.target.node.kind != FileKind::kDirectory) {
      const auto opened = modes_.find(path);
      if (opened == modes_.end()) continue;
      closed = opened->second;
    }
    if ((closed & kOwnerAll) == kOwnerAll) continue;
    GALLEY_TRY(close_one(path, closed | kOwnerAll, closed, view));
  }
  return {};
}

/// Closes only a directory that still has the mode it was opened with: another program set any
/// other mode.
Result<void> OpenedDirectories::close_one(const RelPath& path, uint32_t open, uint32_t closed,
                                          WorkspaceView& view) {
  const auto at = view.locate(path);
  if (!at) return {};
  GALLEY_ASSIGN(const FileStat stat, at->directory->stat(at->name));
  const bool is_open = stat.kind == FileKind::kDirectory &&
                       (stat.mode & kPermissionBits) == (open & kPermissionBits);
  if (!is_open) return {};
  const uint32_t special = stat.mode & kKeptSpecialBits;
  return at->directory->set_mode(at->name, (closed & kPermissionBits) | special);
}

Result<PathState> judge(const JournaledPath& fold, const Seen& seen, WorkspaceView& view) {
  if (seen.is_unreadable) return judge_unreadable(fold, seen);
  if (seen.node == fold.target.node) return PathState::kDone;
  if (is_newer(fold, seen)) return PathState::kForeign;
  if (seen.node.kind == FileKind::kAbsent) {
    return is_known_kind(fold, FileKind::kAbsent) ? PathState::kKnown : PathState::kForeign;
  }
  for (const auto& image : fold.known) {
    if (image.node == seen.node) return PathState::kKnown;
  }
  // After a power cut a new inode may have its content but not its mode yet.
  const bool is_image = std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return is_same_content(image.node, seen.node);
  });
  // It may also lack its owner, and then has that of the process. No power cut makes a third one.
  const bool may_be_torn =
      fold.may_be_torn && (is_known_owner(fold, seen) || seen.stat.uid == effective_user());
  if (may_be_torn && is_image) return PathState::kKnown;
  // The content of the target with the mode of another image: the change was half done.
  if (is_same_content(seen.node, fold.target.node)) {
    const bool is_our_mode = std::ranges::any_of(
        fold.known,
        [&](const JournaledPath::Image& image) { return image.node.mode == seen.node.mode; });
    return is_our_mode && is_known_owner(fold, seen) ? PathState::kKnown : PathState::kForeign;
  }
  if (!may_be_torn || seen.node.kind != FileKind::kRegular || seen.node.size > kMaxImageBytes) {
    return PathState::kForeign;
  }
  GALLEY_ASSIGN(const Location at, view.locate(fold.op->path));
  GALLEY_ASSIGN(const std::string bytes, read_file(*at.directory, at.name, kMaxImageBytes));
  const bool is_torn = std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return is_torn_image(bytes, *image.journal, *image.op);
  });
  return is_torn ? PathState::kKnown : PathState::kForeign;
}

Result<uint32_t> restore_inheritance(const JournaledPath& fold, const Seen& seen,
                                     const WritableDirectory& own, const FileStat& parent) {
  const uint32_t special = seen.stat.mode & kKeptSpecialBits;
  const bool is_old = fold.op->before.node.kind == FileKind::kDirectory;
  if (is_old || !fold.may_be_torn) return special;
  // As when it was made: if the owner cannot be set, the object stays ours, with the mode that was
  // narrowed then.
  static_cast<void>(own.set_owner(RelPath::root(), fold.target.uid, fold.target.gid));
  return special | (parent.mode & kSetGroupId);
}

bool is_known_owner(const JournaledPath& fold, const Seen& seen) {
  return std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
    return image.node.owner == seen.node.owner;
  });
}

bool is_known_kind(const JournaledPath& fold, FileKind kind) {
  if (kind == FileKind::kAbsent) {
    const auto is_directory = [](const JournaledPath::Image& image) {
      return image.node.kind == FileKind::kDirectory;
    };
    const auto count = std::ranges::count_if(fold.known, is_directory);
    if (count != 0 && static_cast<size_t>(count) != fold.known.size()) return true;
  }
  return std::ranges::any_of(
      fold.known, [&](const JournaledPath::Image& image) { return image.node.kind == kind; });
}

bool is_written_by_us(const JournaledPath& fold) {
  const ContentId& wanted = fold.target.node.content;
  return fold.target.node.kind == FileKind::kRegular &&
         std::ranges::any_of(fold.known, [&](const JournaledPath::Image& image) {
           return image.op->after.node.content == wanted && image.op->before.node.content != wanted;
         });
}

namespace {

template <class Is>
bool is_any_below(const JournaledPaths& folds, const RelPath& path, const Is& is) {
  // "a-b" sorts between "a" and "a/b", so a common prefix does not mean that a path is below.
  for (auto at = folds.upper_bound(path);
       at != folds.end() && at->first.str().starts_with(path.str()); ++at) {
    if (at->first.is_below(path) && is(at->second)) return true;
  }
  return false;
}

}  // namespace

bool has_path_below(const JournaledPaths& folds, const RelPath& path) {
  return is_any_below(folds, path, [](const JournaledPath&) { return true; });
}

bool has_content_below(const JournaledPaths& folds, const RelPath& path) {
  return is_any_below(folds, path, [](const JournaledPath& fold) {
    return fold.target.node.kind != FileKind::kAbsent;
  });
}

}  // namespace galley
