#include <algorithm>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/overlay_errors.h"
#include "staging/overlay/stage_checks.h"

namespace galley {

using overlay_errors::changed_on_disk;
using overlay_errors::check_target;
using overlay_errors::not_found;
using overlay_errors::refuse;
using overlay_errors::wrong_kind;

namespace {

/// A node of the same kind keeps the owner that was staged for its path.
Node keeping_owner(const Overlay::Entry& entry, Node node) {
  if (node.owner) return node;
  if (node.kind == entry.now.kind) {
    node.owner = entry.now.owner;
  } else if (node.kind == entry.before.kind) {
    node.owner = entry.before.owner;
  }
  return node;
}

/// Gives a file that is only moved, or gets another mode, the time that it has on disk.
void keep_time(Overlay::Entry& entry) {
  if (entry.written.ns == 0) entry.written.ns = entry.base.mtime_ns;
}

}  // namespace

// --- writing --------------------------------------------------------------------------------

Result<void> Overlay::check_new_name(const RelPath& path) {
  const auto foreign = foreign_name(path);
  if (!foreign) return {};
  const auto is_a = [this](const RelPath& there, FileKind wanted) {
    const auto kind = kind_now(there);
    return kind && *kind == wanted;
  };
  if (foreign->head != path && is_a(foreign->head, FileKind::kDirectory)) return {};
  const std::vector<RelPath>& meant = foreign->meant;
  auto found = std::find_if(meant.begin(), meant.end(), [&](const RelPath& candidate) {
    return foreign->is_sure || is_a(candidate, FileKind::kRegular);
  });
  if (found == meant.end()) {
    found = std::find_if(meant.begin(), meant.end(), [&](const RelPath& candidate) {
      return !candidate.parent().is_root() && is_a(candidate.parent(), FileKind::kDirectory);
    });
  }
  std::string way = "name files relative to the workspace, with '/'";
  if (found != meant.end())
    way = "name '" + found->str() + "' if that file of the workspace is meant";
  return refuse("path.elsewhere", path, foreign->why + ", so no such file is made; " + way);
}

void Overlay::note_created(const RelPath& path) {
  const auto listing = listings_.find(path.parent());
  if (listing != listings_.end()) listing->second.first_live = 0;
}

Result<std::vector<RelPath>> Overlay::missing_parents(const RelPath& path) {
  std::vector<RelPath> missing;
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    GALLEY_ASSIGN(const FileKind kind, kind_now(above));
    if (kind == FileKind::kDirectory) break;
    if (kind == FileKind::kSymlink) {
      return refuse("path.through_symlink", path,
                    "goes through the symbolic link '" + above.str() + "'");
    }
    if (kind != FileKind::kAbsent) {
      return refuse("path.not_directory", path,
                    "needs '" + above.str() + "' to be a directory, which it is not");
    }
    missing.push_back(above);
  }
  std::reverse(missing.begin(), missing.end());
  return missing;
}

Result<void> Overlay::make_parents(const RelPath& path) {
  GALLEY_ASSIGN(const auto missing, missing_parents(path));
  for (const RelPath& above : missing) GALLEY_TRY(touch(above));  // first everything that can fail
  for (const RelPath& above : missing) {
    Entry& entry = changing().change(above);
    const uint32_t mode =
        entry.before.kind == FileKind::kDirectory ? entry.before.mode : created_directory_mode();
    entry.now = keeping_owner(entry, Node{FileKind::kDirectory, mode, {}, 0});
    note_created(above);
  }
  return {};
}

/// Stores the old bytes of a path before its first change. The diff, the merge and the journal need
/// them.
Result<void> Overlay::keep_base_content(const RelPath& path, const Entry& entry) {
  const Node& before = entry.before;
  if (before.kind != FileKind::kRegular && before.kind != FileKind::kSymlink) return {};
  if (before != entry.now) return {};  // stored at the first change
  // If a base was not read from disk, its content is already in the store.
  if (entry.base == BaseStamp()) return {};
  const auto recent = recent_.find(before.content);
  if (recent != recent_.end()) return store_->keep(before.content, recent->second);
  if (before.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string target, workspace_->read_link(path));
    GALLEY_ASSIGN(const ContentId id, store_->put(target));
    return id == before.content ? Result<void>() : changed_on_disk(path);
  }
  auto copied = store_->copy(before.content, *workspace_, path);
  if (!copied && copied.error().reason == "stage.content_changed") return changed_on_disk(path);
  return copied;
}

Result<void> Overlay::write(const RelPath& path, const Content& content,
                            const WriteOptions& options) {
  if (content->size() > limits::kMaxFileBytes) {
    return fail(ErrorKind::kQuota, "limit.file_size",
                "'" + path.str() + "' would be larger than " +
                    std::to_string(limits::kMaxFileBytes) + " bytes",
                path.str());
  }
  GALLEY_ASSIGN(Entry * entry, touch(path));
  const FileKind kind = entry->now.kind;
  if (options.must_be_new && kind != FileKind::kAbsent) {
    return refuse("path.exists", path, "exists already");
  }
  const bool replaceable = kind == FileKind::kAbsent || kind == FileKind::kRegular ||
                           (kind == FileKind::kSymlink && options.replace_symlink);
  if (!replaceable) return wrong_kind(path, kind);
  const bool is_new = kind == FileKind::kAbsent;  // parents of an existing path exist
  if (is_new) GALLEY_TRY(check_new_name(path));
  if (is_new) GALLEY_TRY(missing_parents(path));
  GALLEY_TRY(keep_base_content(path, *entry));
  const ContentId id = options.id ? *options.id : ContentId::of(*content);
  if (id == entry->before.content) {
    // It would be no change, and the save would stay.
    GALLEY_ASSIGN(const bool is_saved, is_other_on_disk(path, *entry));
    if (is_saved) return changed_on_disk(path);
  }
  GALLEY_TRY(store_->keep(id, content));
  if (is_new) GALLEY_TRY(make_parents(path));
  const uint32_t mode = kind == FileKind::kRegular
                            ? entry->now.mode
                            : options.mode_if_new.value_or(created_file_mode()) & kPermissionBits;
  entry->now = keeping_owner(*entry, Node{FileKind::kRegular, mode, id, content->size()});
  entry->written = now();
  note_created(path);
  return {};
}

Result<void> Overlay::put(const RelPath& path, const Node& node,
                          std::optional<Change::WriteTime> written) {
  GALLEY_ASSIGN(Entry * entry, touch(path));
  GALLEY_TRY(keep_base_content(path, *entry));
  if (node.kind != FileKind::kAbsent) GALLEY_TRY(make_parents(path));
  entry->now = keeping_owner(*entry, node);
  entry->written = written.value_or(now());
  entry->renamed_from.reset();
  entry->copied_from.reset();
  note_created(path);
  return {};
}

Result<void> Overlay::make_symlink(const RelPath& path, const std::string& target) {
  GALLEY_TRY(check_target(path, target));
  GALLEY_ASSIGN(Entry * entry, touch(path));
  if (entry->now.kind == FileKind::kDirectory) return wrong_kind(path, entry->now.kind);
  if (entry->now.kind == FileKind::kAbsent) GALLEY_TRY(check_new_name(path));
  GALLEY_TRY(missing_parents(path));
  GALLEY_TRY(keep_base_content(path, *entry));
  GALLEY_ASSIGN(const ContentId id, store_->put(target));
  GALLEY_TRY(make_parents(path));
  entry->now = Node{FileKind::kSymlink, 0, id, target.size()};
  note_created(path);
  return {};
}

Result<void> Overlay::prune_empty_parents(const RelPath& path) {
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    GALLEY_ASSIGN(const bool is_empty, is_empty_now(above));
    if (!is_empty) return {};
    GALLEY_ASSIGN(Entry * entry, touch(above));
    entry->now = Node{};
  }
  return {};
}

Result<void> Overlay::remove(const RelPath& path) {
  GALLEY_ASSIGN(Entry * entry, touch(path));
  if (entry->now.kind != FileKind::kRegular && entry->now.kind != FileKind::kSymlink) {
    return wrong_kind(path, entry->now.kind);
  }
  GALLEY_TRY(keep_base_content(path, *entry));
  const Entry saved = *entry;
  entry->now = Node{};
  entry->renamed_from.reset();
  entry->copied_from.reset();
  auto pruned = prune_empty_parents(path);
  if (!pruned) *entry = saved;
  return pruned;
}

Result<void> Overlay::remove_directory(const RelPath& path) {
  GALLEY_ASSIGN(const FileKind kind, kind_now(path));
  if (kind == FileKind::kAbsent) return not_found(path);
  if (kind != FileKind::kDirectory) {
    return refuse("path.not_directory", path, "is not a directory");
  }
  GALLEY_ASSIGN(const bool is_empty, is_empty_now(path));
  if (!is_empty) {
    return refuse("path.directory_not_empty", path, "is a directory that is not empty");
  }
  GALLEY_ASSIGN(Entry * entry, touch(path));
  entry->now = Node{};
  return {};
}

Result<void> Overlay::remove_tree(const RelPath& path) {
  const Entries saved = entries_;
  const auto remove_all = [&]() -> Result<void> {
    GALLEY_ASSIGN(auto below, tree_below(path));
    for (auto it = below.rbegin(); it != below.rend(); ++it) {
      GALLEY_ASSIGN(Entry * entry, touch(*it));
      GALLEY_TRY(keep_base_content(*it, *entry));
      entry->now = Node{};
      entry->renamed_from.reset();
    }
    auto removed = remove_directory(path);
    if (!removed && removed.error().reason == "path.directory_not_empty") {
      return refuse("path.directory_not_empty", path,
                    "has a protected entry ('.git' or '.galley'), which no edit removes");
    }
    return removed;
  };
  auto removed = remove_all();
  if (!removed) restore(saved);
  return removed;
}

Result<void> Overlay::make_directory(const RelPath& path, std::optional<uint32_t> mode) {
  GALLEY_ASSIGN(Entry * entry, touch(path));
  if (entry->now.kind != FileKind::kAbsent) return refuse("path.exists", path, "exists already");
  GALLEY_TRY(check_new_name(path));
  GALLEY_TRY(make_parents(path));
  const uint32_t bits = mode.value_or(created_directory_mode()) & kPermissionBits;
  entry->now = keeping_owner(*entry, Node{FileKind::kDirectory, bits, {}, 0});
  note_created(path);
  return {};
}

Result<void> Overlay::set_mode(const RelPath& path, uint32_t mode) {
  GALLEY_ASSIGN(Entry * entry, touch(path));
  if (entry->now.kind != FileKind::kRegular && entry->now.kind != FileKind::kDirectory) {
    return wrong_kind(path, entry->now.kind);
  }
  GALLEY_TRY(keep_base_content(path, *entry));
  keep_time(*entry);
  entry->now.mode = mode & kPermissionBits;
  return {};
}

Result<bool> Overlay::set_owner(const RelPath& path, const OwnerWish& wish) {
  GALLEY_ASSIGN(Entry * entry, touch(path));
  const FileKind kind = entry->now.kind;
  if (kind == FileKind::kAbsent) return not_found(path);
  if (kind != FileKind::kRegular && kind != FileKind::kDirectory) return wrong_kind(path, kind);
  GALLEY_ASSIGN(const std::optional<Owner> now, owner(path));
  if (!now && !(wish.uid && wish.gid)) {
    return refuse("owner.incomplete", path,
                  "is new and gets its owner at the commit: name both the user and the group");
  }
  const Owner wanted{wish.uid ? *wish.uid : now->uid, wish.gid ? *wish.gid : now->gid};
  if (now == wanted) return false;
  GALLEY_TRY(check_owner_change(path, now, wanted));
  GALLEY_TRY(keep_base_content(path, *entry));
  if (entry->before.kind == kind && !entry->before.owner) entry->before.owner = now;
  entry->now.owner = wanted;
  if (entry->renamed_from && entry->before.kind == FileKind::kAbsent) {
    // The undo of the commit makes the source again, with the owner that it had.
    GALLEY_ASSIGN(Entry * source, touch(*entry->renamed_from));
    const bool is_moved = source->now.kind == FileKind::kAbsent && source->before.kind == kind;
    if (is_moved && !source->before.owner) source->before.owner = now;
  }
  // Nothing is left to change, so the owner is not part of the transaction any more.
  if (entry->before.owner == wanted) entry->before.owner = entry->now.owner = std::nullopt;
  return true;
}

// --- moving and copying ---------------------------------------------------------------------

Result<void> Overlay::take(const RelPath& from, const RelPath& to, bool keep_source) {
  GALLEY_ASSIGN(Entry * source, touch(from));
  GALLEY_ASSIGN(Entry * target, touch(to));
  Node node = source->now;
  if (keep_source) node.owner.reset();  // as cp does
  GALLEY_TRY(keep_base_content(from, *source));
  GALLEY_TRY(keep_base_content(to, *target));
  GALLEY_TRY(make_parents(to));
  target->now = keeping_owner(*target, node);
  keep_time(*source);
  target->written = keep_source ? now() : source->written;  // as cp and mv do
  note_created(to);
  if (node.kind == FileKind::kDirectory) {
    if (!keep_source) source->now = Node{};
    return {};
  }
  const bool has_origin = source->before.kind != FileKind::kAbsent;
  const std::optional<RelPath> origin =
      source->renamed_from ? source->renamed_from
                           : (has_origin ? std::optional<RelPath>(from) : std::nullopt);
  target->renamed_from.reset();
  target->copied_from.reset();
  if (keep_source) {
    target->copied_from = has_origin ? std::optional<RelPath>(from) : std::nullopt;
    return {};
  }
  if (origin != to) target->renamed_from = origin;
  source->now = Node{};
  source->renamed_from.reset();
  source->copied_from.reset();
  return {};
}

Result<void> Overlay::move(const RelPath& from, const RelPath& to) {
  GALLEY_ASSIGN(const Node source, node_without_content(from));
  if (source.kind == FileKind::kAbsent) return not_found(from);
  if (source.kind == FileKind::kOther) return wrong_kind(from, source.kind);
  GALLEY_ASSIGN(const Node target, node_without_content(to));
  if (target.kind != FileKind::kAbsent) {
    return refuse("path.exists", to, "exists already; remove it first or choose another name");
  }
  if (to.is_below(from)) {
    return refuse("path.into_itself", to, "lies inside '" + from.str() + "', which would move");
  }
  GALLEY_TRY(check_new_name(to));
  GALLEY_TRY(missing_parents(to));
  const Entries saved = entries_;
  const auto move_all = [&]() -> Result<void> {
    std::vector<RelPath> below;
    if (source.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(below, tree_below(from));
    }
    // Touched before the parent is removed: afterwards, an untouched child would look absent.
    for (const RelPath& path : below) GALLEY_TRY(touch(path));
    GALLEY_TRY(take(from, to, false));
    for (const RelPath& path : below) {
      GALLEY_ASSIGN(const RelPath tail, RelPath::parse(path.str().substr(from.str().size() + 1)));
      GALLEY_ASSIGN(const RelPath moved, to.join(tail));
      GALLEY_TRY(take(path, moved, false));
    }
    return prune_empty_parents(from);
  };
  auto moved = move_all();
  if (!moved) restore(saved);
  return moved;
}

Result<void> Overlay::copy(const RelPath& from, const RelPath& to) {
  GALLEY_ASSIGN(const Node source, node_without_content(from));
  if (source.kind != FileKind::kRegular && source.kind != FileKind::kSymlink) {
    return wrong_kind(from, source.kind);
  }
  GALLEY_ASSIGN(const Node target, node_without_content(to));
  if (target.kind != FileKind::kAbsent) {
    return refuse("path.exists", to, "exists already; remove it first or choose another name");
  }
  GALLEY_TRY(check_new_name(to));
  GALLEY_TRY(missing_parents(to));
  return take(from, to, true);
}

}  // namespace galley
