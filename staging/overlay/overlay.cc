#include "staging/overlay/overlay.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay_errors.h"

namespace galley {

namespace {

constexpr size_t kMaxRecentBytes = size_t{32} << 20U;

}  // namespace

using overlay_errors::changed_on_disk;
using overlay_errors::not_found;
using overlay_errors::refuse;
using overlay_errors::wrong_kind;

Overlay::Overlay(const Directory& workspace, std::shared_ptr<ContentStore> store,
                 const Clock& clock)
    : workspace_(&workspace), store_(std::move(store)), clock_(&clock) {}

Result<FileOnDisk> read_from_disk(const Directory& workspace, const RelPath& path,
                                  int64_t seen_ns) {
  auto read = read_file_and_stat(workspace, path, kMaxHeldBytes);
  if (!read && read.error().kind == ErrorKind::kQuota) {
    FileOnDisk file{{}, seen_ns, {}, {}};
    ContentHasher hasher;
    GALLEY_ASSIGN(file.stat,
                  read_in_pieces(workspace, path, limits::kMaxFileBytes,
                                 [&](uint64_t /*at*/, std::string_view piece) -> Result<void> {
                                   hasher.update(piece);
                                   return {};
                                 }));
    file.id = hasher.finish();
    return file;
  }
  if (!read) return fail(read.error());
  FileOnDisk file{read->stat, seen_ns, {}, ContentId::of(read->bytes)};
  file.stat.size = read->bytes.size();
  file.content = std::make_shared<const std::string>(std::move(read->bytes));
  return file;
}

// --- look-ups -------------------------------------------------------------------------------

Result<void> Overlay::check_name(const RelPath& path) const {
  if (path.is_protected()) {
    return refuse("path.protected", path,
                  "is in .git, .galley or .sage, which no edit may read or write");
  }
  return {};
}

/// False if the base of a touched parent is not a directory, so that `path` cannot be on disk.
/// Refuses a path through a staged symbolic link.
Result<bool> Overlay::ancestors_on_disk(const RelPath& path) const {
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    const auto entry = entries_.find(above);
    if (entry == entries_.end()) continue;
    if (entry->second.now.kind == FileKind::kSymlink) {
      return refuse("path.through_symlink", path,
                    "goes through the symbolic link '" + above.str() + "'");
    }
    if (entry->second.before.kind != FileKind::kDirectory) return false;
  }
  return true;
}

void Overlay::remember(const Content& content, const ContentId& id) {
  if (recent_bytes_ + content->size() > kMaxRecentBytes) {
    recent_.clear();
    recent_bytes_ = 0;
  }
  if (recent_.emplace(id, content).second) recent_bytes_ += content->size();
}

Result<Content> Overlay::read_disk(const RelPath& path) {
  GALLEY_ASSIGN(std::string bytes, read_file(*workspace_, path, limits::kMaxFileBytes));
  return std::make_shared<const std::string>(std::move(bytes));
}

/// Most touched paths are regular files, and one open suffices for their state and content. Returns
/// nothing for other paths, which need a stat.
std::optional<Node> Overlay::file_on_disk(const RelPath& path, BaseStamp& stamp) {
  FileOnDisk file;
  if (const auto known = expected_.find(path); known != expected_.end()) {
    file = std::move(known->second);
    expected_.erase(known);
  } else {
    auto read = read_from_disk(*workspace_, path, clock_->wall_ns());
    const int code = read ? 0 : read.error().os_error;
    if (code == ENOENT || code == ENOTDIR) return Node();
    if (!read) return std::nullopt;
    file = std::move(*read);
  }
  stamp = {file.stat.inode, file.stat.device, file.stat.mtime_ns, file.stat.ctime_ns, file.seen_ns};
  if (file.content != nullptr) remember(file.content, file.id);
  const uint64_t size = file.content != nullptr ? file.content->size() : file.stat.size;
  return Node{FileKind::kRegular, file.stat.mode & kPermissionBits, file.id, size};
}

Result<Node> Overlay::disk_node(const RelPath& path, bool with_content, BaseStamp& stamp) {
  if (with_content) {
    if (const auto node = file_on_disk(path, stamp)) return *node;
  }
  GALLEY_ASSIGN(const FileStat stat, workspace_->stat(path));
  stamp = {stat.inode, stat.device, stat.mtime_ns, stat.ctime_ns, clock_->wall_ns()};
  Node node;
  node.kind = stat.kind;
  if (stat.kind == FileKind::kRegular || stat.kind == FileKind::kDirectory) {
    node.mode = stat.mode & kPermissionBits;
  }
  if (stat.kind == FileKind::kRegular) node.size = stat.size;
  if (stat.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string target, workspace_->read_link(path));
    node.size = target.size();
    node.content = ContentId::of(target);
    remember(std::make_shared<const std::string>(target), node.content);
  }
  if (stat.kind == FileKind::kRegular && with_content) {
    GALLEY_ASSIGN(const Content content, read_disk(path));
    node.size = content->size();
    node.content = ContentId::of(*content);
    remember(content, node.content);
  }
  if (stat.kind == FileKind::kAbsent) stamp = {};
  return node;
}

Result<Overlay::Entry> Overlay::look(const RelPath& path, bool with_content) {
  GALLEY_TRY(check_name(path));
  const auto known = entries_.find(path);
  if (known != entries_.end()) return known->second;
  Entry entry;
  GALLEY_ASSIGN(const bool on_disk, ancestors_on_disk(path));
  if (on_disk) {
    GALLEY_ASSIGN(entry.before, disk_node(path, with_content, entry.base));
  }
  entry.now = entry.before;
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    const auto over = entries_.find(above);
    if (over != entries_.end() && over->second.now.kind != FileKind::kDirectory) {
      entry.now = Node{};
    }
  }
  return entry;
}

Result<Overlay::Entry*> Overlay::touch(const RelPath& path) {
  if (path.is_root()) return refuse("path.is_directory", path, "is the workspace root");
  GALLEY_ASSIGN(Entry entry, look(path, true));
  if (entry.before.kind == FileKind::kOther) return wrong_kind(path, FileKind::kOther);
  if (entries_.size() >= limits::kMaxChanges && !entries_.contains(path)) {
    return fail(ErrorKind::kQuota, "limit.changes",
                "the transaction touches more than " + std::to_string(limits::kMaxChanges) +
                    " paths; commit in smaller steps",
                path.str());
  }
  Entry* const touched = changing().try_emplace(path, std::move(entry)).first;
  if (open_steps_ > 0) touches_.push_back({path, touched->now, touched->before});
  return touched;
}

Result<FileKind> Overlay::kind_now(const RelPath& path) {
  if (path.is_root()) return FileKind::kDirectory;
  GALLEY_ASSIGN(const Entry entry, look(path, false));
  return entry.now.kind;
}

Result<Node> Overlay::node_without_content(const RelPath& path) {
  if (path.is_root()) return Node{FileKind::kDirectory, kPermissionBits, {}, 0};
  GALLEY_ASSIGN(Entry entry, look(path, false));
  const Node now = entry.now;
  if (tracks_reads_ && entry.before.kind == FileKind::kAbsent) {
    GALLEY_TRY(touch(path));
  }
  return now;
}

Result<Node> Overlay::node(const RelPath& path) {
  if (path.is_root()) return Node{FileKind::kDirectory, kPermissionBits, {}, 0};
  // Does not copy a known entry.
  const auto known = entries_.find(path);
  if (known != entries_.end() && check_name(path)) return known->second.now;
  GALLEY_ASSIGN(const Entry* entry, touch(path));
  return entry->now;
}

Result<std::optional<Owner>> Overlay::owner(const RelPath& path) {
  std::optional<Owner> none;
  if (path.is_root()) return none;
  GALLEY_ASSIGN(const Entry entry, look(path, false));
  const FileKind kind = entry.now.kind;
  if (entry.now.owner) return entry.now.owner;
  if (kind != FileKind::kRegular && kind != FileKind::kDirectory) return none;
  if (entry.before.kind != kind && !entry.renamed_from) return none;
  const RelPath& on_disk = entry.before.kind == kind ? path : *entry.renamed_from;
  GALLEY_ASSIGN(const FileStat stat, workspace_->stat(on_disk));
  return stat.kind == kind ? std::optional<Owner>(owner_of(stat)) : none;
}

Result<Content> Overlay::read(const RelPath& path) {
  const auto known = entries_.find(path);
  const bool is_stale = known != entries_.end() && known->second.base == kReadAgainStamp &&
                        known->second.before == known->second.now &&
                        known->second.before.kind == FileKind::kRegular;
  if (is_stale) GALLEY_TRY(read_again(path));
  GALLEY_ASSIGN(const Node found, node(path));
  if (found.kind != FileKind::kRegular) return wrong_kind(path, found.kind);
  const auto recent = recent_.find(found.content);
  if (recent != recent_.end()) return recent->second;
  const Entry& entry = entries_.at(path);
  if (entry.before != entry.now) return store_->get(found.content);
  // Not changed in the overlay, so the bytes are only on disk.
  GALLEY_ASSIGN(const Content content, read_disk(path));
  if (ContentId::of(*content) != found.content) {
    return changed_on_disk(path);
  }
  remember(content, found.content);
  return content;
}

Result<bool> Overlay::is_saved_since_read(const RelPath& path) {
  const auto known = entries_.find(path);
  if (known == entries_.end() || known->second.before != known->second.now) return false;
  return is_other_on_disk(path, known->second);
}

/// Whether a file, link or absent path is not on disk as its base is.
Result<bool> Overlay::is_other_on_disk(const RelPath& path, const Entry& entry) {
  const Node& read = entry.before;
  const bool is_file = read.kind == FileKind::kRegular || read.kind == FileKind::kSymlink;
  if (!is_file && read.kind != FileKind::kAbsent) return false;
  GALLEY_ASSIGN(const FileStat stat, reachable_stat(*workspace_, path));
  if (stat.kind != read.kind) return true;
  if (!is_file || is_signature_of(entry.base, read.size, stat)) return false;
  if (stat.size != read.size) return true;
  BaseStamp stamp;
  GALLEY_ASSIGN(const Node there, disk_node(path, true, stamp));
  return with_owner_like(there, read, stat) != read;
}

/// Replaces what was read of an unchanged path by what is on disk. For the open steps, the path was
/// so from the beginning: a save of another program is no change of theirs.
Result<void> Overlay::read_again(const RelPath& path) {
  const Entry old = entries_.at(path);
  changing().erase(path);
  auto read = look(path, true);
  if (!read) {
    changing().insert_or_assign(path, old);
    return fail(read.error());
  }
  for (Touch& touch : touches_) {
    const bool is_only_read = touch.path == path && touch.held == touch.on_disk;
    if (is_only_read) touch.held = touch.on_disk = read->now;
  }
  if (read->before == old.before) read->written = old.written;
  changing().insert_or_assign(path, *std::move(read));
  return {};
}

Result<void> Overlay::take_save(const RelPath& path, const ShowsAll& shows_all) {
  if (tracks_reads_) return {};
  GALLEY_ASSIGN(const bool is_saved, is_saved_since_read(path));
  if (!is_saved) return {};
  GALLEY_ASSIGN(const FileStat stat, reachable_stat(*workspace_, path));
  if (shows_all && stat.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(const Content save, read_disk(path));
    if (!shows_all(*save)) return {};
  }
  const auto is_copy = [&path](const auto& each) { return each.second.copied_from == path; };
  const bool has_copy = std::any_of(entries_.begin(), entries_.end(), is_copy);
  return has_copy ? Result<void>() : read_again(path);
}

Result<std::string> Overlay::read_link(const RelPath& path) {
  GALLEY_ASSIGN(const Node found, node(path));
  if (found.kind != FileKind::kSymlink) {
    return refuse("path.not_symlink", path, "is not a symbolic link");
  }
  const auto recent = recent_.find(found.content);
  if (recent != recent_.end()) return *recent->second;
  const Entry& entry = entries_.at(path);
  if (entry.before == entry.now) return workspace_->read_link(path);
  GALLEY_ASSIGN(const Content target, store_->get(found.content));
  return *target;
}

// --- listing --------------------------------------------------------------------------------

Result<Overlay::Listing*> Overlay::disk_listing(const RelPath& directory) {
  const auto known = listings_.find(directory);
  if (known != listings_.end()) return &known->second;
  Listing listing;
  bool on_disk = true;
  if (!directory.is_root()) {
    GALLEY_ASSIGN(on_disk, ancestors_on_disk(directory));
    const auto entry = entries_.find(directory);
    if (entry != entries_.end() && entry->second.before.kind != FileKind::kDirectory) {
      on_disk = false;
    }
  }
  if (on_disk && directory.is_root()) {
    GALLEY_ASSIGN(listing.names, workspace_->list());
  } else if (on_disk) {
    // A directory with an older entry may have been removed meanwhile.
    const auto opened = workspace_->open_directory(directory);
    const bool is_gone = !opened && entries_.contains(directory) &&
                         (opened.error().os_error == ENOENT || opened.error().os_error == ENOTDIR);
    if (!opened && !is_gone) return fail(opened.error());
    if (opened) {
      auto names = (*opened)->list();
      if (!names) {
        Error error = std::move(names.error());
        error.message = "'" + directory.str() + "': " + error.message;
        error.path = directory.str();
        return fail(std::move(error));
      }
      listing.names = *std::move(names);
    }
  }
  return &listings_.emplace(directory, std::move(listing)).first->second;
}

/// The root has an entry only for its listing.
Result<void> Overlay::note_listing(const RelPath& directory, const Listing& listing) {
  Entry* entry = nullptr;
  if (directory.is_root()) {
    entry = &changing()[directory];
  } else {
    GALLEY_ASSIGN(entry, touch(directory));
    if (entry->before.kind != FileKind::kDirectory) return {};  // not on disk
  }
  if (!entry->listing) entry->listing = listing_id(listing.names);
  return {};
}

Result<std::vector<DirectoryEntry>> Overlay::list(const RelPath& directory) {
  GALLEY_ASSIGN(const FileKind kind, kind_now(directory));
  if (kind == FileKind::kAbsent) return not_found(directory);
  if (kind != FileKind::kDirectory) {
    return refuse("path.not_directory", directory, "is not a directory");
  }
  listings_.erase(directory);
  GALLEY_ASSIGN(const Listing* listing, disk_listing(directory));
  if (tracks_reads_) GALLEY_TRY(note_listing(directory, *listing));
  std::map<std::string, FileKind> names;
  for (const DirectoryEntry& entry : listing->names) names[entry.name] = entry.kind;
  const std::string prefix = directory.is_root() ? "" : directory.str() + "/";
  for (auto it = directory.is_root() ? entries_.begin() : entries_.upper_bound(directory);
       it != entries_.end(); ++it) {
    if (it->first.is_root()) continue;
    const std::string& path = it->first.str();
    if (!path.starts_with(prefix)) {
      if (path > prefix) break;
      continue;
    }
    const std::string name = path.substr(prefix.size());
    if (name.find('/') == std::string::npos) names[name] = it->second.now.kind;
  }
  std::vector<DirectoryEntry> result;
  for (auto& [name, entry_kind] : names) {
    if (entry_kind == FileKind::kAbsent) continue;
    const auto path = RelPath::parse(name);
    if (path && path->is_protected()) continue;
    result.push_back({name, entry_kind});
  }
  return result;
}

Result<bool> Overlay::is_empty_now(const RelPath& directory) {
  GALLEY_ASSIGN(Listing * listing, disk_listing(directory));
  for (size_t& i = listing->first_live; i < listing->names.size(); ++i) {
    const auto name = RelPath::parse(listing->names[i].name);
    if (!name) return false;
    GALLEY_ASSIGN(const RelPath child, directory.join(*name));
    const auto entry = entries_.find(child);
    if (entry == entries_.end() || entry->second.now.kind != FileKind::kAbsent) return false;
  }
  for (auto it = entries_.upper_bound(directory); it != entries_.end(); ++it) {
    if (it->first.is_below(directory)) {
      if (it->second.now.kind != FileKind::kAbsent) return false;
    } else if (it->first.str() > directory.str() + "/") {
      break;
    }
  }
  return true;
}

Result<std::vector<RelPath>> Overlay::tree_below(const RelPath& directory) {
  std::vector<RelPath> found;
  std::vector<RelPath> todo = {directory};
  while (!todo.empty()) {
    const RelPath here = todo.back();
    todo.pop_back();
    GALLEY_ASSIGN(const auto entries, list(here));
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
      GALLEY_ASSIGN(const RelPath child, here.join(name));
      if (found.size() >= limits::kMaxChanges) {
        return fail(ErrorKind::kQuota, "limit.changes",
                    "'" + directory.str() + "' holds more than " +
                        std::to_string(limits::kMaxChanges) + " paths",
                    directory.str());
      }
      found.push_back(child);
      if (entry.kind == FileKind::kDirectory) todo.push_back(child);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// --- the result -----------------------------------------------------------------------------

ChangeSet Overlay::changes() const {
  ChangeSet changes;
  for (const auto& [path, entry] : entries_) {
    if (entry.before == entry.now) continue;
    Change change{path, entry.before, entry.now, entry.base, {}, {}, entry.written};
    if (change.is_create()) {
      change.renamed_from = entry.renamed_from;
      change.copied_from = entry.copied_from;
    }
    if (change.renamed_from) {
      const auto source = entries_.find(*change.renamed_from);
      const bool gone = source != entries_.end() && source->second.now.kind == FileKind::kAbsent;
      if (!gone) change.copied_from = std::exchange(change.renamed_from, std::nullopt);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<Read> Overlay::reads() const {
  std::vector<Read> reads;
  for (const auto& [path, entry] : entries_) {
    const bool is_changed = entry.before != entry.now;
    if (is_changed && !entry.listing) continue;
    reads.push_back({path, entry.before, entry.base, is_changed, entry.listing});
  }
  return reads;
}

Overlay::Entries& Overlay::changing() {
  ++version_;
  return entries_;
}

void Overlay::share(const Overlay& other) {
  entries_ = other.entries_;
  ++version_;
  listings_.clear();
}

void Overlay::restore(Entries entries) {
  if (open_steps_ > 0) {
    Entries::differences(
        entries_, entries, [this](const RelPath& path, const Entry* held, const Entry* next) {
          const Node& on_disk = held != nullptr ? held->before : next->before;
          touches_.push_back({path, held != nullptr ? held->now : on_disk, on_disk});
        });
  }
  entries_ = std::move(entries);
  ++version_;
  listings_.clear();
}

// --- steps ----------------------------------------------------------------------------------

size_t Overlay::begin_step() {
  ++open_steps_;
  return touches_.size();
}

ChangeSet Overlay::end_step(size_t begun) {
  std::map<RelPath, const Touch*> first;
  for (size_t i = begun; i < touches_.size(); ++i) first.emplace(touches_[i].path, &touches_[i]);
  ChangeSet changes;
  for (const auto& [path, touch] : first) {
    const auto entry = entries_.find(path);
    const Node& now = entry == entries_.end() ? touch->on_disk : entry->second.now;
    if (touch->held == now) continue;
    changes.push_back({path, touch->held, now, {}, {}, {}});
    // The owner was not known before the first call that set it.
    const bool is_first = changes_owner(touch->held, now) && !touch->held.owner;
    if (is_first) changes.back().before.owner = entry->second.before.owner;
    // It is not known any more after a call that set the first owner back.
    const bool is_last = touch->held.owner && !now.owner && touch->held.kind == now.kind;
    if (!is_last) continue;
    if (const auto back = owner(path)) changes.back().after.owner = *back;
  }
  if (--open_steps_ == 0) touches_.clear();
  return changes;
}

namespace {

/// True for a directory that is not a submodule. The diff has a line for each submodule.
bool is_own_directory(const Node& node) {
  return node.kind == FileKind::kDirectory && !is_submodule(node);
}

/// Whether `wanted` is true for a change below the directory.
template <class Wanted>
bool any_below(const ChangeSet& changes, const RelPath& directory, Wanted wanted) {
  const std::string prefix = directory.str() + "/";
  auto at = std::lower_bound(
      changes.begin(), changes.end(), prefix,
      [](const Change& change, const std::string& text) { return change.path.str() < text; });
  for (; at != changes.end() && at->path.str().starts_with(prefix); ++at) {
    if (wanted(*at)) return true;
  }
  return false;
}

}  // namespace

std::vector<const Change*> bare_directories(const ChangeSet& changes) {
  std::vector<const Change*> found;
  const RelPath* removed = nullptr;  // the last removed one; those below it are not listed
  for (const Change& change : changes) {
    const bool was = is_own_directory(change.before);
    const bool is = is_own_directory(change.after);
    if (!was && !is) continue;
    bool is_told = false;
    if (!was) {
      is_told = any_below(changes, change.path, [](const Change& other) {
        return other.after.kind != FileKind::kAbsent;
      });
    } else if (!is) {
      is_told = (removed != nullptr && change.path.is_below(*removed)) ||
                any_below(changes, change.path, [](const Change& other) {
                  return other.before.kind != FileKind::kAbsent && !is_own_directory(other.before);
                });
    }
    if (is_told) continue;
    found.push_back(&change);
    if (!is) removed = &change.path;
  }
  return found;
}

// A view and its overlay share only three objects, so reading on several threads is safe:
//
//     entries_   each has its own map; shared nodes are never changed (SharedMap)
//     store_     has its own lock
//     workspace_ its calls may run at the same time
//
// All other state (listings, recent contents, the version) belongs to one overlay and is used only
// on its thread. take_reads() runs after the view's thread has ended.

Overlay Overlay::reading_view() const {
  Overlay view(*workspace_, store_, *clock_);
  view.share(*this);
  view.tracks_reads_ = tracks_reads_;
  return view;
}

bool Overlay::take_reads(const Overlay& view) {
  struct New {
    RelPath path;
    Entry seen;
  };
  std::vector<New> found;
  size_t added = 0;
  bool is_consistent = true;
  Entries::differences(entries_, view.entries_,
                       [&](const RelPath& path, const Entry* mine, const Entry* seen) {
                         if (seen == nullptr) return;
                         found.push_back({path, *seen});
                         if (mine == nullptr) {
                           ++added;
                           return;
                         }
                         const bool has_both = mine->listing && seen->listing;
                         if (mine->before != seen->before) is_consistent = false;
                         if (has_both && mine->listing != seen->listing) is_consistent = false;
                       });
  if (!is_consistent || entries_.size() + added > limits::kMaxChanges) return false;
  if (found.empty()) return true;  // no new paths
  Entries& entries = changing();
  for (New& one : found) {
    const auto [mine, is_new] = entries.try_emplace(one.path, one.seen);
    if (!is_new && !mine->listing) mine->listing = one.seen.listing;
  }
  for (const auto& [id, content] : view.recent_) remember(content, id);
  return true;
}

}  // namespace galley
