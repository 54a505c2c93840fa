#include "staging/sandbox/change_set_layer.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/file_mode.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {

namespace {

constexpr uint32_t kNewDirectoryMode = 0755;

/// Whether an ancestor of the path is in the set; nearest first.
bool has_ancestor_in(const std::unordered_set<std::string>& set, const RelPath& path) {
  if (set.empty()) return false;
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    if (set.contains(above.str())) return true;
  }
  return false;
}

bool changes_kind(const Change* before, const Change* after) {
  const bool was_directory = before == nullptr || before->after.kind == FileKind::kDirectory;
  const bool is_directory = after == nullptr || after->after.kind == FileKind::kDirectory;
  return !was_directory || !is_directory;
}

bool is_shown_alike(const Change& a, const Change& b) {
  return a.after == b.after && a.written.ns == b.written.ns;
}

/// Visits two sorted change sets in parallel; an absent partner is a null pointer.
template <class Visit>
void side_by_side(const ChangeSet& left, const ChangeSet& right, Visit visit) {
  size_t l = 0;
  size_t r = 0;
  while (l < left.size() || r < right.size()) {
    const bool take_left = r == right.size() || (l < left.size() && left[l].path <= right[r].path);
    const bool take_right = l == left.size() || (r < right.size() && right[r].path <= left[l].path);
    visit(take_left ? &left[l] : nullptr, take_right ? &right[r] : nullptr);
    l += take_left ? 1 : 0;
    r += take_right ? 1 : 0;
  }
}

}  // namespace

ContentId view_id(const ChangeSet& changes) {
  std::string text = change_set_id(changes).hex();
  for (const Change& change : changes) text += ' ' + std::to_string(change.written.ns);
  return ContentId::of(text);
}

ChangeSetLayer::ChangeSetLayer(std::unique_ptr<WritableDirectory> directory,
                               const Directory& workspace)
    : directory_(std::move(directory)), workspace_(&workspace) {}

bool ChangeSetLayer::is_below_reset(const RelPath& path) const {
  return has_ancestor_in(reset_, path);
}

bool ChangeSetLayer::is_hidden_above(const RelPath& path) const {
  return has_ancestor_in(hidden_, path);
}

Result<void> ChangeSetLayer::show(const ChangeSet& changes, const ContentStore& store) {
  const ContentId id = view_id(changes);
  if (has_root_ && id == shown_id_) return {};
  if (!has_root_) {
    GALLEY_TRY(set_root_like(*directory_, *workspace_, false));
    has_root_ = true;
  }
  reset_.clear();
  hidden_.clear();
  parents_.clear();
  late_modes_.clear();
  std::vector<const Change*> gone;
  side_by_side(shown_, changes, [&](const Change* before, const Change* after) {
    const bool is_same = before != nullptr && after != nullptr && is_shown_alike(*before, *after);
    const RelPath& path = (before != nullptr ? before : after)->path;
    if (!is_same && changes_kind(before, after)) reset_.insert(path.str());
    if (before != nullptr && after == nullptr) gone.push_back(before);
    if (after != nullptr && after->after.kind != FileKind::kDirectory) hidden_.insert(path.str());
  });
  // Until everything is written, the layer shows no known change set.
  const ChangeSet before = std::exchange(shown_, {});
  shown_id_ = ContentId();
  for (auto it = gone.rbegin(); it != gone.rend(); ++it) GALLEY_TRY(remove_entry(**it));
  std::vector<const Change*> fresh;
  side_by_side(before, changes, [&](const Change* old, const Change* now) {
    if (now == nullptr) return;
    const bool is_same = old != nullptr && is_shown_alike(*old, *now);
    if (!is_same || is_below_reset(now->path)) fresh.push_back(now);
  });
  for (const Change* change : fresh) GALLEY_TRY(write(*change, store));
  for (auto it = late_modes_.rbegin(); it != late_modes_.rend(); ++it) {
    GALLEY_TRY(directory_->set_mode(it->first, it->second));
  }
  shown_ = changes;
  shown_id_ = id;
  return {};
}

/// Removes from the layer a path that is no longer changed.
Result<void> ChangeSetLayer::remove_entry(const Change& change) {
  GALLEY_ASSIGN(const FileStat found, directory_->stat(change.path));
  if (found.kind == FileKind::kAbsent) return {};
  if (found.kind != FileKind::kDirectory) return directory_->remove_file(change.path);
  auto removed = directory_->remove_directory(change.path);
  if (removed || removed.error().os_error != ENOTEMPTY) return removed;
  // Other paths below still need the directory. It gets the attributes of the workspace's
  // directory.
  GALLEY_ASSIGN(const FileStat base, reachable_stat(*workspace_, change.path));
  if (base.kind == FileKind::kDirectory) late_modes_.emplace_back(change.path, base.mode);
  return {};
}

/// A directory of the layer hides the attributes of the directory below it, so it gets a copy of
/// them.
Result<void> ChangeSetLayer::make_merged_parents(const RelPath& path) {
  std::vector<RelPath> missing;
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    if (parents_.contains(above.str())) break;
    missing.push_back(above);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    GALLEY_TRY(make_merged_parent(*it));
    parents_.insert(it->str());
  }
  return {};
}

Result<void> ChangeSetLayer::make_merged_parent(const RelPath& path) {
  GALLEY_ASSIGN(const FileStat there, directory_->stat(path));
  if (there.kind == FileKind::kDirectory) {
    if ((there.mode & kOwnerAll) == kOwnerAll) return {};
    late_modes_.emplace_back(path, there.mode);
    return directory_->set_mode(path, kOwnerAll);  // until everything below is written
  }
  if (there.kind != FileKind::kAbsent) GALLEY_TRY(directory_->remove_file(path));
  GALLEY_TRY(directory_->make_directory(path, kOwnerAll));
  GALLEY_ASSIGN(FileStat base, reachable_stat(*workspace_, path));
  if (base.kind != FileKind::kDirectory) {
    GALLEY_ASSIGN(base, workspace_->stat(RelPath::root()));
    base.mode = kNewDirectoryMode;
  }
  late_modes_.emplace_back(path, base.mode);
  return set_owner_like(*directory_, path, base);
}

Result<void> ChangeSetLayer::give_owner(const RelPath& path, const Change& change) {
  const bool has_base = change.before.kind != FileKind::kAbsent;
  GALLEY_ASSIGN(FileStat like, reachable_stat(*workspace_, has_base ? path : RelPath::root()));
  if (like.kind == FileKind::kAbsent) {
    GALLEY_ASSIGN(like, workspace_->stat(RelPath::root()));
  }
  return set_owner_like(*directory_, path, like);
}

Result<void> ChangeSetLayer::write(const Change& change, const ContentStore& store) {
  const RelPath& path = change.path;
  if (path.is_protected() || is_hidden_above(path)) return {};
  GALLEY_TRY(make_merged_parents(path));
  GALLEY_ASSIGN(const FileStat there, directory_->stat(path));
  if (there.kind == FileKind::kDirectory && change.after.kind == FileKind::kDirectory) {
    late_modes_.emplace_back(path, change.after.mode);
    return directory_->set_mode(path, kOwnerAll);
  }
  if (there.kind != FileKind::kAbsent) GALLEY_TRY(erase_layer(*directory_, path));
  if (change.after.kind == FileKind::kAbsent) {
    // There is nothing below to hide: the path was created and its creation was undone.
    GALLEY_ASSIGN(const FileStat base, reachable_stat(*workspace_, path));
    if (base.kind == FileKind::kAbsent) return {};
    return make_whiteout(*directory_, path);
  }
  GALLEY_TRY(write_node(path, change, store));
  return give_owner(path, change);
}

Result<void> ChangeSetLayer::write_node(const RelPath& path, const Change& change,
                                        const ContentStore& store) {
  switch (change.after.kind) {
    case FileKind::kDirectory:
      late_modes_.emplace_back(path, change.after.mode);
      return directory_->make_directory(path, kOwnerAll);
    case FileKind::kSymlink: {
      GALLEY_ASSIGN(const Content target, store.get(change.after.content));
      return directory_->make_symlink(path, *target);
    }
    case FileKind::kRegular: {
      GALLEY_ASSIGN(const auto file,
                    directory_->open_writable_file(path, OpenMode::kCreateNew, kPrivateFile));
      GALLEY_TRY(store.write(change.after.content, *file));
      GALLEY_TRY(file->set_mode(change.after.mode));
      return change.written.ns == 0 ? Result<void>() : file->set_modified(change.written.ns);
    }
    case FileKind::kAbsent:
    case FileKind::kOther:
      break;
  }
  return fail(ErrorKind::kInternal, "sandbox.bad_change",
              "'" + path.str() + "' cannot be shown in a layer", path.str());
}

namespace {

/// Returns a time not after the command first wrote a path, deleted it or made the directories
/// above it; 0 if the file system does not report it.
///
/// overlayfs links all whiteouts of a mount to one inode, whose time is that of the first deletion.
/// A whiteout that was not there at `unchanged_ns` is younger.
Result<int64_t> first_written_ns(const WritableDirectory& upper, RelPath path,
                                 int64_t unchanged_ns) {
  for (; !path.is_root(); path = path.parent()) {
    GALLEY_ASSIGN(const FileStat layer, upper.stat(path));
    if (layer.kind == FileKind::kOther) return std::max(layer.birth_ns, unchanged_ns);
    if (layer.kind != FileKind::kAbsent) return layer.birth_ns;
  }
  return 0;
}

/// Whether the command may have made a directory above the path. Then it never saw what others
/// wrote there. A directory that is older than the command is not its own.
Result<bool> is_below_own(const Overlay::Entries& before, const RelPath& path,
                          const Overlay& overlay, int64_t began_ns) {
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    if (!before.contains(above)) continue;
    GALLEY_ASSIGN(const FileStat there, reachable_stat(overlay.workspace(), above));
    if (there.birth_ns == 0 || there.birth_ns >= began_ns) return true;
  }
  return false;
}

/// Whether the folder itself was not moved here since then, so that it only has new entries. The
/// time stamp of an entry tells when it was made or moved there.
Result<bool> is_in_place_since(const Overlay& overlay, const RelPath& folder, int64_t began_ns) {
  GALLEY_ASSIGN(const FileStat parent, reachable_stat(overlay.workspace(), folder.parent()));
  return parent.kind == FileKind::kDirectory && parent.mtime_ns < began_ns;
}

/// Whether the file was made or moved here after the command began and after the last refresh. A
/// command that has looked at the path goes on seeing the file before it, as overlayfs works. So it
/// may never have seen this one. A move changes only the ctime; another link changes it, too.
Result<bool> came_unseen(const Overlay& overlay, const RelPath& path, const AbsorbRules& rules) {
  GALLEY_ASSIGN(const FileStat there, reachable_stat(overlay.workspace(), path));
  if (there.kind == FileKind::kAbsent) return false;
  const int64_t seen_ns = std::max(rules.began_ns, rules.refreshed_ns);
  const bool was_moved =
      there.mtime_ns < rules.began_ns && there.ctime_ns >= seen_ns && there.nlink == 1;
  return was_moved || there.birth_ns >= seen_ns;
}

void add_files_below(const RelPath& folder, const Overlay::Entries& entries,
                     Overlay::Entries& found) {
  const std::string below = folder.str() + "/";
  for (auto at = entries.upper_bound(folder); at != entries.end(); ++at) {
    if (!at->first.str().starts_with(below)) continue;
    if (at->second.before.kind == FileKind::kRegular) found.emplace(at->first, at->second);
  }
}

}  // namespace

Result<void> check_changed_files(const Overlay::Entries& before, const WritableDirectory& upper,
                                 Overlay& overlay, const AbsorbRules& rules, AbsorbReport& report) {
  // Reading back takes time, too. A time stamp further in the future means that the clock was set
  // back.
  constexpr int64_t kReadingBackNs = 60'000'000'000;
  Overlay::Entries forgotten;
  for (const auto& [path, entry] : overlay.entries()) {
    const bool is_file =
        entry.before.kind == FileKind::kRegular || entry.before.kind == FileKind::kSymlink;
    // What is moved into a folder keeps its own time stamps.
    const bool is_lost_folder =
        entry.before.kind == FileKind::kDirectory && entry.now.kind != FileKind::kDirectory;
    if (!is_file && !is_lost_folder) continue;
    if (entry.before == entry.now || before.contains(path)) continue;
    const int64_t changed = entry.base.ctime_ns;
    if (changed <= rules.began_ns || changed > rules.ended_ns + kReadingBackNs) continue;
    if (!rules.empties_changed_bases) {
      report.refused.push_back({path.str(), "changed on disk while the command ran; run it again"});
      continue;
    }
    GALLEY_ASSIGN(const bool is_own, is_below_own(before, path, overlay, rules.began_ns));
    const int64_t unchanged_ns = is_own ? 0 : rules.unchanged_ns;
    GALLEY_ASSIGN(const int64_t written, first_written_ns(upper, path, unchanged_ns));
    // The clock of both stamps advances only every few milliseconds.
    if (written > changed) {
      GALLEY_ASSIGN(const bool is_unseen, came_unseen(overlay, path, rules));
      if (!is_file || !is_unseen) continue;
    }
    if (is_file) forgotten.emplace(path, entry);
    GALLEY_ASSIGN(const bool was_in_place, is_in_place_since(overlay, path, rules.began_ns));
    if (is_lost_folder && !was_in_place) add_files_below(path, overlay.entries(), forgotten);
  }
  if (forgotten.empty()) return {};
  GALLEY_ASSIGN(const ContentId nothing, overlay.store()->put(std::string()));
  Overlay::Entries entries = overlay.entries();
  for (const auto& [path, known] : forgotten) {
    Overlay::Entry entry = known;
    entry.before = Node{FileKind::kRegular, entry.before.mode, nothing, 0};
    entry.base = {};
    entries.insert_or_assign(path, std::move(entry));
  }
  overlay.restore(std::move(entries));
  return {};
}

}  // namespace galley
