#include "engine/commit/base_check.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "base/file_mode.h"
#include "base/shell_word.h"
#include "engine/commit/journal_rules.h"
#include "staging/overlay/change_set.h"

namespace galley {

namespace {

class BaseCheck {
 public:
  BaseCheck(const ChangeSet& changes, Plan& plan, WorkspaceView& view)
      : changes_(changes), plan_(plan), view_(view) {
    for (const auto& change : changes) by_path_.emplace(change.path, &change);
  }

  Result<CheckedBases> run() {
    result_.stats.resize(changes_.size());
    for (size_t i = 0; i < changes_.size(); ++i) GALLEY_TRY(check(i));
    return std::move(result_);
  }

 private:
  Result<void> check(size_t i);
  Result<void> conflict_above(const Change& change, const Error& error);
  Result<void> check_emptied(const Change& change, const Location& at);
  Result<void> check_owner(const Change& change) const;
  Result<void> check_writable(const Change& change, const Location& at, const FileStat& stat);
  Result<Node> node_now(const Change& change, const Location& at, const FileStat& stat) const;
  Result<void> record_before(size_t i, const Location& at, const FileStat& stat);
  [[nodiscard]] bool becomes_directory(const RelPath& path) const;
  void conflict(const Change& change, const Node& found) {
    ConflictPath path = make_conflict(change.path, change.before, found);
    // A file that was changed while a run worked has an empty base (AbsorbRules). Whether its bytes
    // are others is not known: they may be older than its times say.
    const bool is_emptied = change.base.inode == 0 && change.before.size == 0;
    if (is_emptied && found.kind == FileKind::kRegular && found.size != 0 &&
        change.before.kind == FileKind::kRegular) {
      path.message = "'" + change.path.str() +
                     "' was changed while a run worked: its contents, or only its mode, times or "
                     "links";
    }
    result_.conflicts.push_back(std::move(path));
  }

  const ChangeSet& changes_;
  Plan& plan_;
  WorkspaceView& view_;
  std::map<RelPath, const Change*> by_path_;
  std::set<RelPath> writable_;  ///< parents that were already checked
  CheckedBases result_;
};

/// Whether this transaction makes a new directory at this path, perhaps in place of a file or link.
/// Then no path below it can exist yet, and a link there must not be followed.
bool BaseCheck::becomes_directory(const RelPath& path) const {
  for (RelPath at = path; !at.is_root(); at = at.parent()) {
    const auto found = by_path_.find(at);
    if (found == by_path_.end()) continue;
    const Change& change = *found->second;
    if (change.after.kind == FileKind::kDirectory && change.before.kind != FileKind::kDirectory) {
      return true;
    }
  }
  return false;
}

Result<Node> BaseCheck::node_now(const Change& change, const Location& at,
                                 const FileStat& stat) const {
  if (stat.kind == FileKind::kRegular && change.before.kind == FileKind::kRegular) {
    Node node{FileKind::kRegular, stat.mode & kPermissionBits, ContentId(), stat.size};
    // A different size means different content, so the file need not be read.
    if (stat.size != change.before.size) return node;
    if (is_signature_of(change.base, change.before.size, stat)) {
      node.content = change.before.content;
      return node;
    }
  }
  return observe(at, stat);
}

Result<void> BaseCheck::check(size_t i) {
  const Change& change = changes_[i];
  if (becomes_directory(change.path.parent())) {
    // The check of its parent ensures that nothing can be below it.
    if (change.before.kind != FileKind::kAbsent) conflict(change, Node());
    return {};
  }
  auto at = view_.locate(change.path);
  if (!at) return conflict_above(change, at.error());
  GALLEY_ASSIGN(const FileStat stat, at->directory->stat(at->name));
  GALLEY_TRY(check_writable(change, *at, stat));
  result_.stats[i] = stat;
  auto now = node_now(change, *at, stat);
  if (!now && now.error().kind == ErrorKind::kNotFound) now = Node();  // removed meanwhile
  if (!now) return now.error();
  *now = with_owner_like(*now, change.before, stat);
  if (*now != change.before) {
    conflict(change, *now);
    return {};
  }
  GALLEY_TRY(check_owner(change));
  if (stat.kind == FileKind::kAbsent) return {};
  if (stat.mount != view_.mount()) {
    return fail(ErrorKind::kRefused, "commit.crosses_mount",
                "'" + change.path.str() + "' is a mount point; unmount it first",
                change.path.str());
  }
  GALLEY_TRY(record_before(i, *at, stat));
  return check_emptied(change, *at);
}

/// The parent of the path is not a directory any more. A link there is not followed.
Result<void> BaseCheck::conflict_above(const Change& change, const Error& error) {
  const bool is_link = error.reason == "path.through_symlink";
  if (!is_link && error.os_error != ENOENT && error.os_error != ENOTDIR) return fail(error);
  ConflictPath path = make_conflict(change.path, change.before, Node());
  if (is_link) {
    path.message = linked_parent_message(change.path);
  } else if (change.before.kind == FileKind::kAbsent) {
    path.message = "the directory '" + change.path.parent().str() + "' that was to hold '" +
                   change.path.str() + "' is gone";
  }
  result_.conflicts.push_back(std::move(path));
  return {};
}

/// A change of owner may have been staged by another user.
Result<void> BaseCheck::check_owner(const Change& change) const {
  if (!change.after.owner || change.after.owner == change.before.owner) return {};
  return check_owner_change(change.path, change.before.owner, *change.after.owner);
}

/// Reports an unwritable directory before anything is touched, not between the swaps.
Result<void> BaseCheck::check_writable(const Change& change, const Location& at,
                                       const FileStat& stat) {
  // A mode is set in place, unless other names share the inode: then a new file is made.
  const bool is_mode_only =
      change.before.kind == change.after.kind && change.before.content == change.after.content &&
      (change.before.kind == FileKind::kDirectory || !changes_owner(change.before, change.after));
  const bool is_in_place =
      is_mode_only && (change.before.kind == FileKind::kDirectory || stat.nlink <= 1);
  if (is_in_place || !writable_.insert(change.path.parent()).second) return {};
  GALLEY_ASSIGN(const bool is_writable, at.directory->is_writable());
  // The plan opens a directory that the change set also changes; the chmod itself reports a
  // failure.
  if (is_writable || by_path_.count(change.path.parent()) != 0) return {};
  const std::string parent = change.path.parent().is_root() ? "." : change.path.parent().str();
  Error error = os_error(EACCES, "cannot change the directory", parent);
  error.reason = "commit.read_only_directory";
  GALLEY_ASSIGN(const FileStat folder, at.directory->stat(RelPath::root()));
  const bool may_be_opened = folder.uid == geteuid() && (folder.mode & kOwnerAll) != kOwnerAll;
  error.message += may_be_opened
                       ? "; make it writable and commit again: chmod u+rwx " + shell_word(parent)
                       : "; it belongs to user " + std::to_string(folder.uid) +
                             ", or its file system is read-only";
  return fail(std::move(error));
}

Result<void> BaseCheck::record_before(size_t i, const Location& at, const FileStat& stat) {
  JournalSide& side = plan_.ops[i].before;
  side.uid = stat.uid;
  side.gid = stat.gid;
  side.mtime_ns = stat.mtime_ns;
  if (stat.kind != FileKind::kSymlink) side.special = stat.mode & kSpecialBits;
  // A user cannot set attributes of a link.
  if (stat.kind == FileKind::kSymlink) return {};
  GALLEY_ASSIGN(side.attributes, at.directory->attributes(at.name));
  return {};
}

/// A removed directory may contain only objects that the change set removes as well.
Result<void> BaseCheck::check_emptied(const Change& change, const Location& at) {
  const bool is_emptied =
      change.before.kind == FileKind::kDirectory && change.after.kind != FileKind::kDirectory;
  if (!is_emptied) return {};
  GALLEY_ASSIGN(const auto directory, at.directory->open_directory(at.name));
  GALLEY_ASSIGN(const auto entries, directory->list());
  for (const auto& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    const auto path = name ? change.path.join(*name) : name;
    const auto found = path ? by_path_.find(*path) : by_path_.end();
    if (found != by_path_.end() && found->second->after.kind == FileKind::kAbsent) continue;
    ConflictPath conflict = make_conflict(change.path, change.before, change.before);
    conflict.message = "the directory '" + change.path.str() + "' holds '" + entry.name +
                       "', which the change does not know";
    result_.conflicts.push_back(std::move(conflict));
    return {};
  }
  return {};
}

std::string in_words(const Node& node) {
  switch (node.kind) {
    case FileKind::kAbsent:
      return "nothing";
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a symbolic link";
    case FileKind::kOther:
      return "a special file";
    case FileKind::kRegular:
      return "a file";
  }
  return "something";
}

}  // namespace

ConflictPath make_conflict(const RelPath& path, const Node& expected, const Node& found) {
  ConflictPath conflict;
  conflict.path = path;
  conflict.expected = expected;
  conflict.found = found;
  const std::string name = "'" + path.str() + "'";
  if (expected.kind == found.kind && expected.kind != FileKind::kAbsent) {
    const bool is_same_content = expected.content == found.content && expected.size == found.size;
    const bool is_mode = is_same_content && expected.mode != found.mode;
    const bool is_owner = is_same_content && !is_mode && expected.owner != found.owner;
    conflict.message = (is_mode    ? "the mode of " + name
                        : is_owner ? "the owner of " + name
                                   : name) +
                       " was changed since it was read";
  } else if (found.kind == FileKind::kAbsent) {
    conflict.message = name + " is gone since it was read";
  } else if (expected.kind == FileKind::kAbsent) {
    conflict.message = name + " exists now: " + in_words(found) + " was put there meanwhile";
  } else {
    conflict.message = name + " was " + in_words(expected) + " and is " + in_words(found) + " now";
  }
  return conflict;
}

ConflictPath make_listing_conflict(const Read& read) {
  ConflictPath conflict;
  conflict.path = read.path;
  conflict.expected = conflict.found = read.node;
  conflict.message = "the directory '" + (read.path.is_root() ? "." : read.path.str()) +
                     "' has other entries than when this transaction listed it";
  return conflict;
}

std::string linked_parent_message(const RelPath& path) {
  return "'" + path.str() + "' lies behind a symbolic link now";
}

Result<CheckedBases> check_bases(const ChangeSet& changes, Plan& plan, WorkspaceView& view) {
  return BaseCheck(changes, plan, view).run();
}

namespace {

bool is_nothing_there(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.os_error == ENOENT ||
         error.os_error == ENOTDIR || error.os_error == ELOOP;
}

Result<Node> seen_at(const Read& read, WorkspaceView& view) {
  GALLEY_ASSIGN(const Location at, view.locate(read.path));
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  const bool are_files = stat.kind == FileKind::kRegular && read.node.kind == FileKind::kRegular;
  if (are_files && is_signature_of(read.base, read.node.size, stat)) {
    Node node = read.node;
    node.mode = stat.mode & 0777U;
    return with_owner_like(node, read.node, stat);
  }
  GALLEY_ASSIGN(const Node node, observe(at, stat));
  return with_owner_like(node, read.node, stat);
}

/// The present node; a path below an object that is not a directory is absent.
Result<Node> node_now(const Read& read, WorkspaceView& view) {
  if (read.path.is_root()) return read.node;
  auto node = seen_at(read, view);
  if (!node && is_nothing_there(node.error())) return Node();
  return node;
}

Result<bool> has_other_listing(const Read& read, WorkspaceView& view) {
  if (!read.listing) return false;
  if (read.path.is_root()) {
    GALLEY_ASSIGN(auto entries, view.root().list());
    return listing_id(std::move(entries)) != *read.listing;
  }
  auto directory = view.root().open_directory(read.path);
  if (!directory && is_nothing_there(directory.error())) return true;
  if (!directory) return fail(directory.error());
  GALLEY_ASSIGN(auto entries, (*directory)->list());
  return listing_id(std::move(entries)) != *read.listing;
}

void take_owner(const FileStat& stat, JournalSide& side) {
  side.uid = stat.uid;
  side.gid = stat.gid;
}

Result<void> describe_made(const Location& at, const FileStat& stat, JournalOp& op) {
  if (op.after.node.kind == FileKind::kAbsent) {
    GALLEY_ASSIGN(const FileStat folder, at.directory->stat(RelPath::root()));
    take_owner(folder, op.before);
    return {};
  }
  take_owner(stat, op.after);
  take_owner(stat, op.before);
  if (stat.kind == FileKind::kSymlink) return {};
  if (stat.kind == FileKind::kDirectory) op.after.special = stat.mode & kKeptSpecialBits;
  GALLEY_ASSIGN(op.after.attributes, at.directory->attributes(at.name));
  if (op.before.node.kind == op.after.node.kind) {
    op.before.attributes = op.after.attributes;
  } else {  // the kernel labels new objects: no commit gives these attributes
    std::erase_if(op.after.attributes, is_privileged);
  }
  return {};
}

}  // namespace

Result<std::vector<ConflictPath>> check_made(const ChangeSet& changes, Plan& plan,
                                             WorkspaceView& view) {
  std::vector<ConflictPath> conflicts;
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const auto at = view.locate(change.path);
    if (!at && !is_nothing_there(at.error())) return fail(at.error());
    Node now;
    if (at) {
      GALLEY_ASSIGN(const FileStat stat, at->directory->stat(at->name));
      GALLEY_ASSIGN(now, observe(*at, stat));
      now = with_owner_like(now, change.after, stat);
      if (now.kind != FileKind::kAbsent && stat.mount != view.mount()) {
        return fail(ErrorKind::kRefused, "commit.crosses_mount",
                    "'" + change.path.str() + "' is a mount point; unmount it first",
                    change.path.str());
      }
      if (now == change.after) GALLEY_TRY(describe_made(*at, stat, plan.ops[i]));
    }
    if (now != change.after) conflicts.push_back(make_conflict(change.path, change.after, now));
  }
  return conflicts;
}

Result<std::vector<ConflictPath>> check_reads(const std::vector<Read>& reads, WorkspaceView& view) {
  std::vector<ConflictPath> conflicts;
  for (const Read& read : reads) {
    if (conflicts.size() >= kMaxReadConflicts) break;
    Node now = read.node;
    if (!read.is_changed) {
      GALLEY_ASSIGN(now, node_now(read, view));
    }
    if (now != read.node) {
      conflicts.push_back(make_conflict(read.path, read.node, now));
      continue;
    }
    GALLEY_ASSIGN(const bool is_other, has_other_listing(read, view));
    if (is_other) conflicts.push_back(make_listing_conflict(read));
  }
  return conflicts;
}

}  // namespace galley
