#include "staging/sandbox/absorb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/directory.h"
#include "staging/fs/posix_acl.h"
#include "staging/overlay/staged_step.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/change_set_layer.h"
#include "staging/sandbox/layer_objects.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/tree_copy.h"

// How a command's upper layer becomes changes of the overlay.
//
// The layer is read, instead of a comparison of two trees, because the cost then depends on the
// effects and not on the workspace. A layer records what was touched, not what differs: opening a
// file for writing copies it up. So each object is compared with the tree that the command saw.
//
// The order matters, because the overlay refuses a path below a file. A directory that replaces a
// file is put before its contents. A file that replaces a directory is put after the deletion of
// the old contents. A new directory is put after its contents: only then is it known whether it
// contains only ignored outputs. Whether git ignores a path is checked before the path is hashed.
// Outputs that git ignores come last: one that has the contents of a deleted file was moved, so it
// is proposed. Otherwise the commit would delete the file and keep no copy in the workspace.

namespace galley {
namespace {

constexpr size_t kMaxRefusedKept = 100;
constexpr uint32_t kMergedDirectoryMode = 0755;
constexpr uint32_t kGroupRights = 07;

/// One pass over an upper layer.
class Absorption {
 public:
  Absorption(const WritableDirectory& upper, const WritableDirectory& scratch, Overlay& overlay,
             const AbsorbRules& rules)
      : layer_(upper), scratch_(scratch), overlay_(overlay), rules_(rules) {}

  Result<AbsorbReport> run() {
    const auto absorbed = absorb_all();
    GALLEY_TRY(close_again());
    GALLEY_TRY(absorbed);
    return std::move(report_);
  }
  void narrow_modes();  ///< after infer_renames()

 private:
  /// The counts of one directory of the layer. They decide whether the directory is proposed.
  struct Tally {
    uint64_t staged = 0;
    uint64_t ignored = 0;
  };

  /// Below an opaque directory all directories are opaque, marked or not.
  enum class Below : uint8_t { kMerged, kOpaque };

  /// An entry of the layer: its open directory, and its name in it.
  struct Place {
    std::shared_ptr<const WritableDirectory> directory;
    RelPath name;
  };
  struct Hashed {
    ContentId content;
    uint64_t size = 0;
  };

  Result<void> absorb_all();
  Result<void> note_acl(const Place& at, const RelPath& path, const Node& found);
  Result<void> open_closed(const RelPath& path, uint32_t mode);
  Result<void> close_again();
  Result<Tally> absorb_directory(const RelPath& path, Below below);
  Result<void> absorb_entry(FileKind kind, const RelPath& path, Below below);
  Result<void> absorb_whiteout(const RelPath& path);
  Result<void> stash_whiteout(const RelPath& path);
  Result<void> drop_outputs(const RelPath& path);
  Result<void> hide(const RelPath& path);
  Result<void> absorb_subdirectory(const RelPath& path, Below below);
  Result<void> absorb_file(const RelPath& path);
  Result<void> absorb_symlink(const RelPath& path);
  Result<Below> look_for_marks(const Directory& opened, const RelPath& path, Below below);
  Result<bool> is_committed_since(const Directory& opened, const RelPath& path) const;
  Result<void> replace_directory(const Directory& opened, const RelPath& path);
  Result<void> note_other_bits(const RelPath& path, const FileStat& found);
  Result<void> remove(const RelPath& path, const Node& now);
  Result<void> put(const RelPath& path, const Node& node, const Node& now, int64_t mtime_ns = 0);
  void note_ignored(const RelPath& path);
  Result<void> set_aside(const RelPath& path);
  Result<void> absorb_outputs();
  void note_deleted_contents();
  Result<void> find_moved(const RelPath& path);
  Result<ContentId> output_content(const RelPath& path, FileKind kind);
  Result<void> stash(const RelPath& path);
  Result<bool> merge_outputs(const RelPath& path, const FileStat& stat);
  Result<void> copy_output(const RelPath& path);
  Result<void> make_scratch_parents(const RelPath& path);
  Result<IgnoreAnswer> ignored(const RelPath& path, bool is_directory) const;
  Result<bool> is_ignored(const RelPath& path, bool is_directory) const;
  [[nodiscard]] bool is_proposed_below(const RelPath& path) const;
  Result<void> remove_tracked(const RelPath& path, const Node& now);
  Result<bool> is_same_file(const RelPath& path, const Node& now, const Node& found) const;
  Result<void> refuse_over_save(const RelPath& path);
  Result<bool> saw_output_of_before(const RelPath& path, const Node& now) const;
  Result<void> refuse_over_output(const RelPath& path);
  Result<Place> place(const RelPath& path);
  Result<FileStat> stat(const RelPath& path);
  std::optional<RelPath> child_of(const RelPath& path, const std::string& name);
  Result<void> check_time() const;
  Result<Hashed> hash_file(const Directory& directory, const RelPath& path) const;
  Result<Hashed> hash_inode(const Place& at, const FileStat& stat);
  Result<void> absorb_live_file(const Place& at, const RelPath& path);
  void refuse(const std::string& path, std::string why);
  Result<void> refuse_denied(const RelPath& path, const Error& error);

  OpenDirectories layer_;
  const WritableDirectory& scratch_;
  Overlay& overlay_;
  const AbsorbRules& rules_;
  AbsorbReport report_;
  /// A file with several names is hashed and stored under the first one.
  std::map<std::pair<uint64_t, uint64_t>, Hashed> inodes_;
  std::set<ContentId> adopted_;
  /// The modes of objects with an ACL that is not staged, as they are without it.
  std::map<RelPath, uint32_t> modes_without_acl_;
  /// The directories that the command closed to their owner, and their modes.
  std::vector<std::pair<RelPath, uint32_t>> closed_;
  /// The topmost ignored outputs of the layer, until all other effects are staged.
  std::vector<RelPath> outputs_;
  bool outputs_are_last_ = false;
  /// The sizes and contents of the files and links that the change deletes, and the names of the
  /// empty files.
  std::set<std::pair<uint64_t, ContentId>> deleted_contents_;
  std::set<std::string> deleted_empty_names_;
  std::set<RelPath> moved_;        ///< ignored outputs with such contents
  std::set<RelPath> above_moved_;  ///< the directories above them
};

Result<void> Absorption::absorb_all() {
  for (const RelPath& path : rules_.deleted) GALLEY_TRY(absorb_whiteout(path));
  GALLEY_TRY(absorb_directory(RelPath::root(), Below::kMerged));
  return absorb_outputs();
}

/// The owning group's rights in the access ACL of an object; nothing if it has none.
Result<std::optional<uint32_t>> group_in_acl(const Directory& directory, const RelPath& name) {
  GALLEY_ASSIGN(const auto attributes, directory.attributes(name));
  for (const ExtendedAttribute& attribute : attributes) {
    if (attribute.name == kAccessAcl) return owning_group_rights(attribute.value);
  }
  return std::nullopt;
}

/// With an ACL, the group bits of a mode are the mask of the ACL (acl(5)). A change has no ACL. So
/// a new object gets the rights of the owning group instead, and a changed one keeps its ACL.
Result<void> Absorption::note_acl(const Place& at, const RelPath& path, const Node& found) {
  GALLEY_ASSIGN(const auto rights, group_in_acl(*at.directory, at.name));
  if (!rights) return {};
  GALLEY_ASSIGN(const FileStat there, reachable_stat(overlay_.workspace(), path));
  if (there.kind == found.kind) {
    GALLEY_ASSIGN(const auto kept, group_in_acl(overlay_.workspace(), path));
    if (kept) return {};
  }
  const uint32_t others = found.mode & ~(kGroupRights << kGroupShift);
  modes_without_acl_[path] = others | (found.mode & *rights << kGroupShift);
  return {};
}

/// A directory on disk keeps its setuid, setgid and sticky bits, and a new one gets the setgid bit
/// of the directory above it. Bits that are gone are not reported: some views show none of them.
Result<void> Absorption::note_other_bits(const RelPath& path, const FileStat& found) {
  const auto there = reachable_stat(overlay_.workspace(), path);
  const bool is_on_disk = there && there->kind == FileKind::kDirectory;
  uint32_t has = is_on_disk ? there->mode & kSpecialBits : 0;
  if (!is_on_disk) {
    GALLEY_ASSIGN(const auto above, layer_.at(path.parent()));
    GALLEY_ASSIGN(const FileStat parent, above->stat(RelPath::root()));
    has = parent.mode & kSetGroupId;
  }
  if ((found.mode & kSpecialBits & ~has) != 0) report_.other_bits.push_back(path.str());
  return {};
}

/// Makes a directory readable. The layer of a running command is left alone.
Result<void> Absorption::open_closed(const RelPath& path, uint32_t mode) {
  if (rules_.is_live || (mode & kOwnerAll) == kOwnerAll) return {};
  GALLEY_ASSIGN(const Place at, place(path));
  GALLEY_TRY(at.directory->set_mode(at.name, mode | kOwnerAll));
  closed_.emplace_back(path, mode);
  return {};
}

/// The layer of a run may be used again.
Result<void> Absorption::close_again() {
  while (rules_.copies_contents && !closed_.empty()) {
    GALLEY_ASSIGN(const Place at, place(closed_.back().first));
    GALLEY_TRY(at.directory->set_mode(at.name, closed_.back().second));
    closed_.pop_back();
  }
  return {};
}

void Absorption::refuse(const std::string& path, std::string why) {
  if (report_.refused.size() < kMaxRefusedKept) report_.refused.push_back({path, std::move(why)});
}

/// Refuses a path whose base this user may not read, so that the layer can be dropped or staged
/// later. Returns any other error.
Result<void> Absorption::refuse_denied(const RelPath& path, const Error& error) {
  if (error.os_error != EACCES && error.os_error != EPERM) return fail(error);
  refuse(error.path.empty() ? path.str() : error.path,
         "was changed or deleted, but you may not read it; make it readable and repeat the "
         "command (" +
             error.message + ")");
  return {};
}

Result<void> Absorption::check_time() const {
  if (rules_.clock == nullptr || !rules_.deadline.has_passed(*rules_.clock)) return {};
  return fail(ErrorKind::kTimeout, "sandbox.read_back",
              "reading back what the command changed took too long");
}

Result<Absorption::Place> Absorption::place(const RelPath& path) {
  GALLEY_ASSIGN(RelPath name, RelPath::parse(path.name()));
  GALLEY_ASSIGN(auto directory, layer_.at(path.parent()));
  return Place{std::move(directory), std::move(name)};
}

Result<FileStat> Absorption::stat(const RelPath& path) {
  GALLEY_ASSIGN(const Place at, place(path));
  return at.directory->stat(at.name);
}

/// Returns nothing, and records a refusal, when a RelPath cannot represent the name.
std::optional<RelPath> Absorption::child_of(const RelPath& path, const std::string& name) {
  const std::string text = path.is_root() ? name : path.str() + "/" + name;
  auto child = RelPath::parse(text);
  if (child) return std::move(*child);
  refuse(text, "has a name that Galley cannot hold: " + child.error().message);
  return {};
}

Result<Absorption::Hashed> Absorption::hash_file(const Directory& directory,
                                                 const RelPath& path) const {
  GALLEY_ASSIGN(const auto file, directory.open_file(path));
  ContentHasher hasher;
  GALLEY_ASSIGN(const uint64_t size,
                read_in_pieces(*file, 0, UINT64_MAX, [&](uint64_t /*at*/, std::string_view piece) {
                  hasher.update(piece);
                  return check_time();
                }));
  return Hashed{hasher.finish(), size};
}

Result<Absorption::Hashed> Absorption::hash_inode(const Place& at, const FileStat& stat) {
  if (stat.nlink == 1) return hash_file(*at.directory, at.name);
  const auto known = inodes_.find({stat.device, stat.inode});
  if (known != inodes_.end()) return known->second;
  GALLEY_ASSIGN(const Hashed hashed, hash_file(*at.directory, at.name));
  inodes_.emplace(std::pair(stat.device, stat.inode), hashed);
  return hashed;
}

bool Absorption::is_proposed_below(const RelPath& path) const {
  const std::string prefix = path.str() + "/";
  const auto& entries = overlay_.entries();
  for (auto at = entries.upper_bound(path); at != entries.end(); ++at) {
    if (at->first.str() > prefix && !at->first.str().starts_with(prefix)) break;
    if (at->first.str().starts_with(prefix) && at->second.before != at->second.now) return true;
  }
  return false;
}

/// A path that is already proposed stays proposed, whether git ignores it or not.
Result<IgnoreAnswer> Absorption::ignored(const RelPath& path, bool is_directory) const {
  if (rules_.propose_ignored || !rules_.is_ignored) return IgnoreAnswer::kCounts;
  if (moved_.contains(path)) return IgnoreAnswer::kCounts;
  if (above_moved_.contains(path)) return IgnoreAnswer::kHoldsTracked;
  const auto entry = overlay_.entries().find(path);
  if (entry != overlay_.entries().end() && entry->second.before != entry->second.now) {
    return IgnoreAnswer::kCounts;
  }
  GALLEY_ASSIGN(const auto answer, rules_.is_ignored(path, is_directory, rules_.deadline));
  const bool holds = answer == IgnoreAnswer::kIgnored && is_directory && is_proposed_below(path);
  return holds ? IgnoreAnswer::kHoldsTracked : answer;
}

Result<bool> Absorption::is_ignored(const RelPath& path, bool is_directory) const {
  GALLEY_ASSIGN(const IgnoreAnswer answer, ignored(path, is_directory));
  return answer == IgnoreAnswer::kIgnored;
}

Result<Absorption::Tally> Absorption::absorb_directory(const RelPath& path, Below below) {
  const Tally before{report_.staged, report_.ignored};
  GALLEY_ASSIGN(const auto entries, layer_.list(path));
  for (const DirectoryEntry& entry : entries) {
    GALLEY_TRY(check_time());
    const auto child = child_of(path, entry.name);
    if (!child) continue;
    if (child->is_protected()) {
      ++report_.protected_paths;
      if (report_.protected_names.size() < AbsorbReport::kMaxProtectedNames) {
        report_.protected_names.push_back(child->str());
      }
      GALLEY_ASSIGN(const auto opened, layer_.at(path));
      const auto objects = opened->stat(chosen_path(entry.name + "/objects"));
      const bool has_objects = objects && objects->kind == FileKind::kDirectory;
      const auto there = reachable_stat(overlay_.workspace(), *child);
      const bool is_new = there && there->kind == FileKind::kAbsent;
      if (path.is_root() && (child->name() == ".git" || child->name() == ".galley")) continue;
      const bool is_repository = has_objects && child->name() == ".git";
      if (is_repository) report_.nested_git.push_back(child->str());
      if (!is_repository && is_new) report_.new_protected.push_back(child->str());
      continue;
    }
    if (std::find(rules_.keep.begin(), rules_.keep.end(), *child) != rules_.keep.end()) continue;
    const auto absorbed = absorb_entry(entry.kind, *child, below);
    if (!absorbed) GALLEY_TRY(refuse_denied(*child, absorbed.error()));
  }
  return Tally{report_.staged - before.staged, report_.ignored - before.ignored};
}

Result<void> Absorption::absorb_entry(FileKind kind, const RelPath& path, Below below) {
  switch (kind) {
    case FileKind::kDirectory:
      return absorb_subdirectory(path, below);
    case FileKind::kRegular:
      return absorb_file(path);
    case FileKind::kSymlink:
      return absorb_symlink(path);
    case FileKind::kAbsent:
    case FileKind::kOther:
      break;
  }
  GALLEY_ASSIGN(const Place at, place(path));
  if (is_whiteout(*at.directory, at.name)) return absorb_whiteout(path);
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) {
    note_ignored(path);  // the next command cannot use a socket in build/
  } else {
    refuse(path.str(), "is a FIFO, socket or device, which a change cannot hold");
  }
  return {};
}

Result<void> Absorption::absorb_whiteout(const RelPath& path) {
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  const bool is_directory = now.kind == FileKind::kDirectory;
  GALLEY_ASSIGN(const IgnoreAnswer answer, ignored(path, is_directory));
  if (answer == IgnoreAnswer::kHoldsTracked) return remove_tracked(path, now);
  GALLEY_ASSIGN(const bool saw_output, saw_output_of_before(path, now));
  if (saw_output && answer == IgnoreAnswer::kCounts) return refuse_over_output(path);
  if (!rules_.is_live) GALLEY_TRY(erase_layer(scratch_, path));
  if (answer == IgnoreAnswer::kCounts) return remove(path, now);
  note_ignored(path);
  if (rules_.is_live || now.kind == FileKind::kAbsent) return {};
  GALLEY_TRY(make_scratch_parents(path));
  return hide(path);
}

Result<void> Absorption::hide(const RelPath& path) {
  auto hidden = make_whiteout(scratch_, path);
  // Where whiteouts cannot be made (the copy level on overlayfs), an ignored file that a command
  // deleted exists again for the next one, as in the workspace.
  if (!hidden && hidden.error().os_error == EPERM) return {};
  return hidden;
}

/// Deletes the tracked files of an ignored directory that the command deleted. Deletes the
/// directory itself only if it contained nothing else.
Result<void> Absorption::remove_tracked(const RelPath& path, const Node& now) {
  const uint64_t ignored_before = report_.ignored;
  GALLEY_ASSIGN(const auto entries, overlay_.list(path));
  for (const DirectoryEntry& entry : entries) {
    if (const auto child = child_of(path, entry.name)) GALLEY_TRY(absorb_whiteout(*child));
  }
  return report_.ignored == ignored_before ? remove(path, now) : Result<void>();
}

/// Deletes the object that the proposed tree has at a path.
Result<void> Absorption::remove(const RelPath& path, const Node& now) {
  if (now.kind == FileKind::kAbsent) return refuse_over_save(path);
  const size_t left_before = report_.left_special.size();
  if (now.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const FileStat base, reachable_stat(overlay_.workspace(), path));
    if (base.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(const auto opened, overlay_.workspace().open_directory(path));
      GALLEY_ASSIGN(const auto entries, opened->list());
      for (const DirectoryEntry& entry : entries) {
        const auto name = RelPath::parse(entry.name);
        if (name && !name->is_protected()) continue;
        refuse(path.str() + "/" + entry.name, "was to be deleted, which no edit may do");
        return {};
      }
    }
    GALLEY_ASSIGN(const auto entries, overlay_.list(path));
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
      GALLEY_ASSIGN(const RelPath child, path.join(name));
      GALLEY_ASSIGN(const Node node, overlay_.node_without_content(child));
      GALLEY_TRY(remove(child, node));
    }
    if (report_.left_special.size() != left_before) return {};  // so it is not empty
    if (!entries.empty()) --report_.staged;
  }
  if (now.kind == FileKind::kOther) {
    if (rules_.leaves_special_files) {
      report_.left_special.push_back(path.str());
      return {};
    }
    refuse(path.str(), "was a special file, which no edit may delete");
    return {};
  }
  ++report_.staged;
  return overlay_.put(path, Node{});
}

Result<void> Absorption::put(const RelPath& path, const Node& node, const Node& now,
                             int64_t mtime_ns) {
  if (now.kind == FileKind::kOther) {
    refuse(path.str(), "would take the place of a special file, which no edit may do");
    return {};
  }
  if (now.kind == FileKind::kDirectory && node.kind != FileKind::kDirectory) {
    const size_t left_before = report_.left_special.size();
    GALLEY_TRY(remove(path, now));
    if (report_.left_special.size() != left_before) {
      refuse(path.str(), "would take the place of a special file, which no edit may do");
      return {};
    }
  }
  GALLEY_ASSIGN(const bool saw_output, saw_output_of_before(path, now));
  if (saw_output) return refuse_over_output(path);
  const bool is_other = node.kind != FileKind::kDirectory || now.kind != FileKind::kDirectory;
  // What this command left in an ignored directory is already stashed below it.
  const bool holds_outputs = outputs_are_last_ && node.kind == FileKind::kDirectory;
  if (is_other && !holds_outputs && !rules_.is_live) GALLEY_TRY(drop_outputs(path));
  ++report_.staged;
  return overlay_.put(path, node, Change::WriteTime{mtime_ns, true});
}

/// Whether the command saw what an earlier command left at this path when git ignored it, in place
/// of the file that is there now.
Result<bool> Absorption::saw_output_of_before(const RelPath& path, const Node& now) const {
  if (rules_.propose_ignored || rules_.is_live || !is_file_or_link(now)) return false;
  const auto entry = overlay_.entries().find(path);
  if (entry != overlay_.entries().end() && entry->second.before != entry->second.now) return false;
  GALLEY_ASSIGN(const FileStat output, reachable_stat(scratch_, path));
  return output.kind == FileKind::kRegular || output.kind == FileKind::kSymlink;
}

Result<void> Absorption::refuse_over_output(const RelPath& path) {
  refuse(path.str(),
         "is a file that git does not ignore, but the command saw what an earlier one of the "
         "transaction wrote there when it did; commit or roll back, and run it again");
  return {};
}

/// Whether overlayfs copied the file up and the command then changed nothing.
Result<bool> Absorption::is_same_file(const RelPath& path, const Node& now,
                                      const Node& found) const {
  if (now.kind != found.kind || now.mode != found.mode || now.size != found.size) return false;
  if (!now.content.is_none()) return now.content == found.content;
  GALLEY_ASSIGN(const Hashed base, hash_file(overlay_.workspace(), path));
  return base.content == found.content;
}

/// For an effect that leaves a path as the transaction has read it. If the disk has another state,
/// the command saw a save of another program and took it back, and that would be no change. A run
/// has a basis of its own.
Result<void> Absorption::refuse_over_save(const RelPath& path) {
  if (rules_.is_live || rules_.empties_changed_bases) return {};
  GALLEY_ASSIGN(const bool is_saved, overlay_.is_saved_since_read(path));
  if (!is_saved) return {};
  refuse(path.str(),
         "was saved since this transaction read it, and the command made it again what "
         "was read; read all of it again or rebase, then repeat the command");
  return {};
}

Result<void> Absorption::absorb_file(const RelPath& path) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) return set_aside(path);
  GALLEY_ASSIGN(const Place at, place(path));
  if (rules_.is_live) return absorb_live_file(at, path);
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  // A larger file was so before: the command cannot write beyond that.
  if (rules_.max_file_bytes != 0 && stat.size == rules_.max_file_bytes + 1) {
    report_.has_cut_files = true;
    refuse(path.str(),
           fmt::format("reached the limit of {} bytes and was cut off there; a higher limit: "
                       "sandbox.max_file_bytes in galley.toml, in exec also --file-size",
                       rules_.max_file_bytes));
    return {};
  }
  if (stat.size > limits::kMaxFileBytes) {
    refuse(path.str(), "is larger than " + std::to_string(limits::kMaxFileBytes) + " bytes");
    return {};
  }
  // setuid and setgid are never proposed
  Node found{FileKind::kRegular, stat.mode & kPermissionBits, {}, 0};
  const bool is_unreadable = (stat.mode & kOwnerRead) == 0;
  if (is_unreadable) GALLEY_TRY(at.directory->set_mode(at.name, found.mode | kOwnerRead));
  GALLEY_TRY(note_acl(at, path, found));
  GALLEY_ASSIGN(const Hashed hashed, hash_inode(at, stat));
  found.content = hashed.content;
  found.size = hashed.size;
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  GALLEY_ASSIGN(const bool is_same, is_same_file(path, now, found));
  if (!is_same && !adopted_.contains(found.content)) {
    ContentStore& store = *overlay_.store();
    GALLEY_TRY(rules_.copies_contents
                   ? store.ContentStore::adopt(found.content, *at.directory, at.name)
                   : store.adopt(found.content, *at.directory, at.name));
    adopted_.insert(found.content);
  }
  // Another name of the same file will still be visited, and the layer may be used again.
  if (is_unreadable && (stat.nlink > 1 || rules_.copies_contents)) {
    GALLEY_TRY(at.directory->set_mode(at.name, found.mode));
  }
  if (is_same) note_rewritten(overlay_, path, stat.mtime_ns);
  return is_same ? refuse_over_save(path) : put(path, found, now, stat.mtime_ns);
}

Result<void> Absorption::absorb_live_file(const Place& at, const RelPath& path) {
  GALLEY_ASSIGN(const LiveFile file, read_live_file(*at.directory, at.name, path));
  if (!file.refusal.empty()) {
    refuse(path.str(), file.refusal);
    return {};
  }
  GALLEY_TRY(note_acl(at, path, file.node));
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  GALLEY_ASSIGN(const bool is_same, is_same_file(path, now, file.node));
  const bool is_wanted = rules_.reports_copies && now.content.is_none();  // its base is not known
  if (is_same && !is_wanted) return {};
  GALLEY_TRY(overlay_.store()->keep(file.node.content, file.bytes));
  if (is_same) {
    report_.copies.emplace_back(path, file.node);
    return {};
  }
  return put(path, file.node, now, file.mtime_ns);
}

Result<void> Absorption::absorb_symlink(const RelPath& path) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) return set_aside(path);
  GALLEY_ASSIGN(const Place at, place(path));
  GALLEY_ASSIGN(std::string target, at.directory->read_link(at.name));
  Node found;
  found.kind = FileKind::kSymlink;
  found.size = target.size();
  GALLEY_ASSIGN(found.content, overlay_.store()->put(std::move(target)));
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  return now == found ? refuse_over_save(path) : put(path, found, now);
}

Result<void> Absorption::absorb_subdirectory(const RelPath& path, Below below) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, true));
  if (ignored) return set_aside(path);
  GALLEY_ASSIGN(const FileStat look, stat(path));
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  GALLEY_TRY(note_other_bits(path, look));
  const Node found{FileKind::kDirectory, look.mode & kPermissionBits, {}, 0};
  GALLEY_TRY(open_closed(path, found.mode));
  Below inner = below;
  {
    const auto opened = layer_.at(path);
    if (!opened || !(*opened)->list()) {
      refuse(path.str(), "is a directory that cannot be read");
      return {};
    }
    GALLEY_ASSIGN(inner, look_for_marks(**opened, path, below));
    GALLEY_TRY(note_acl({*opened, RelPath::root()}, path, found));
    const bool hides = now.kind == FileKind::kDirectory && inner == Below::kOpaque;
    if (hides) GALLEY_TRY(replace_directory(**opened, path));
  }
  if (now.kind != FileKind::kAbsent) {
    const bool is_same = now.kind == FileKind::kDirectory && now.mode == found.mode;
    if (!is_same) GALLEY_TRY(put(path, found, now));
    GALLEY_TRY(absorb_directory(path, inner));
    return {};
  }
  GALLEY_ASSIGN(const Tally inside, absorb_directory(path, inner));
  // A directory that contains only ignored outputs is ignored, too.
  if (inside.staged == 0 && inside.ignored != 0) return {};
  if (inside.staged != 0) --report_.staged;
  return put(path, found, now);
}

Result<Absorption::Below> Absorption::look_for_marks(const Directory& opened, const RelPath& path,
                                                     Below below) {
  GALLEY_ASSIGN(const auto attributes, opened.attributes(RelPath::root()));
  for (const ExtendedAttribute& attribute : attributes) {
    if (attribute.name == kOpaqueMark && attribute.value == "y") below = Below::kOpaque;
    if (attribute.name == "user.overlay.redirect" || attribute.name == "user.overlay.metacopy") {
      refuse(path.str(), "uses an overlayfs feature that was not asked for");
    }
  }
  return below;
}

/// Whether the directory on disk is the one that the command made, committed since, or one of
/// others that a sync put into its view. The base of the latter has the inode and the birth of the
/// directory in the layer as a stamp. The command has seen nothing that others put into it later.
Result<bool> Absorption::is_committed_since(const Directory& opened, const RelPath& path) const {
  const auto base = overlay_.entries().find(path);
  if (base == overlay_.entries().end()) return false;
  GALLEY_ASSIGN(const FileStat made, opened.stat(RelPath::root()));
  const BaseStamp& stamp = base->second.base;
  const bool is_of_sync = made.birth_ns != 0 && stamp.inode == made.inode &&
                          stamp.device == made.device && stamp.mtime_ns == made.birth_ns;
  if (is_of_sync) return true;
  GALLEY_ASSIGN(const FileStat below, reachable_stat(overlay_.workspace(), path));
  return made.birth_ns != 0 && below.birth_ns > made.birth_ns;
}

/// An opaque directory hides the directory below it. Everything that it does not contain is
/// deleted.
Result<void> Absorption::replace_directory(const Directory& opened, const RelPath& path) {
  if (!rules_.is_live) GALLEY_TRY(erase_layer(scratch_, path));
  GALLEY_ASSIGN(const bool is_its_own, is_committed_since(opened, path));
  GALLEY_ASSIGN(const auto held, opened.list());
  std::set<std::string> names;
  for (const DirectoryEntry& entry : held) names.insert(entry.name);
  GALLEY_ASSIGN(const auto shown, overlay_.list(path));
  for (const DirectoryEntry& entry : shown) {
    if (names.contains(entry.name)) continue;
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
    GALLEY_ASSIGN(const RelPath child, path.join(name));
    if (is_its_own && !overlay_.entries().contains(child)) continue;
    GALLEY_TRY(absorb_whiteout(child));
  }
  return {};
}

Result<void> Absorption::make_scratch_parents(const RelPath& path) {
  const RelPath parent = path.parent();
  if (parent.is_root()) return {};
  GALLEY_ASSIGN(const FileStat there, scratch_.stat(parent));
  if (there.kind == FileKind::kDirectory) return {};
  GALLEY_TRY(make_scratch_parents(parent));
  if (there.kind != FileKind::kAbsent) GALLEY_TRY(scratch_.remove_file(parent));
  GALLEY_TRY(scratch_.make_directory(parent, kMergedDirectoryMode));
  GALLEY_ASSIGN(FileStat like, reachable_stat(overlay_.workspace(), parent));
  GALLEY_ASSIGN(const FileStat own, stat(parent));
  if (own.kind == FileKind::kDirectory) {
    like = own;
    like.mode &= kPermissionBits;
  } else if (like.kind != FileKind::kDirectory) {
    GALLEY_ASSIGN(like, overlay_.workspace().stat(RelPath::root()));
    like.mode = kMergedDirectoryMode;
  }
  GALLEY_TRY(scratch_.set_mode(parent, like.mode));
  return set_owner_like(scratch_, parent, like);
}

void Absorption::note_ignored(const RelPath& path) {
  if (report_.first_ignored.empty()) report_.first_ignored = path.str();
  ++report_.ignored;
}

Result<void> Absorption::set_aside(const RelPath& path) {
  if (outputs_are_last_) return stash(path);
  outputs_.push_back(path);
  ++report_.ignored;
  return {};
}

/// Proposes the outputs that have the contents of a deleted file. Stashes the others.
Result<void> Absorption::absorb_outputs() {
  if (!report_.refused.empty()) return {};  // they were made from what is refused
  outputs_are_last_ = true;
  if (!outputs_.empty()) note_deleted_contents();
  for (const RelPath& path : outputs_) {
    --report_.ignored;
    if (!deleted_contents_.empty() || !deleted_empty_names_.empty()) GALLEY_TRY(find_moved(path));
    if (!moved_.contains(path) && !above_moved_.contains(path)) {
      GALLEY_TRY(stash(path));
      continue;
    }
    GALLEY_ASSIGN(const FileStat look, stat(path));
    GALLEY_TRY(absorb_entry(look.kind, path, Below::kMerged));
  }
  return {};
}

void Absorption::note_deleted_contents() {
  for (const auto& [path, entry] : overlay_.entries()) {
    const bool has_bytes =
        entry.before.kind == FileKind::kRegular || entry.before.kind == FileKind::kSymlink;
    if (!has_bytes || entry.now.kind != FileKind::kAbsent) continue;
    if (entry.before.size == 0) {
      deleted_empty_names_.insert(std::string(path.name()));
    } else {
      deleted_contents_.emplace(entry.before.size, entry.before.content);
    }
  }
}

Result<void> Absorption::find_moved(const RelPath& path) {
  GALLEY_TRY(check_time());
  GALLEY_ASSIGN(const FileStat look, stat(path));
  if (look.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const auto entries, layer_.list(path));
    for (const DirectoryEntry& entry : entries) {
      const auto child = RelPath::parse(path.str() + "/" + entry.name);
      if (child && !child->is_protected()) GALLEY_TRY(find_moved(*child));
    }
    return {};
  }
  if (look.kind != FileKind::kRegular && look.kind != FileKind::kSymlink) return {};
  if (look.size == 0) {
    if (!deleted_empty_names_.contains(std::string(path.name()))) return {};
  } else {
    const auto like = deleted_contents_.lower_bound({look.size, ContentId{}});
    if (like == deleted_contents_.end() || like->first != look.size) return {};
    GALLEY_ASSIGN(const ContentId content, output_content(path, look.kind));
    if (!deleted_contents_.contains({look.size, content})) return {};
  }
  moved_.insert(path);
  RelPath above = path.parent();
  while (!above.is_root() && above_moved_.insert(above).second) above = above.parent();
  return {};
}

Result<ContentId> Absorption::output_content(const RelPath& path, FileKind kind) {
  GALLEY_ASSIGN(const Place at, place(path));
  if (kind == FileKind::kSymlink) {
    ContentHasher hasher;
    GALLEY_ASSIGN(const std::string target, at.directory->read_link(at.name));
    hasher.update(target);
    return hasher.finish();
  }
  GALLEY_ASSIGN(const FileStat look, at.directory->stat(at.name));
  const bool is_unreadable = !rules_.is_live && (look.mode & kOwnerRead) == 0;
  const uint32_t mode = look.mode & kPermissionBits;
  if (is_unreadable) GALLEY_TRY(at.directory->set_mode(at.name, mode | kOwnerRead));
  const auto hashed = hash_inode(at, look);
  if (is_unreadable) GALLEY_TRY(at.directory->set_mode(at.name, mode));
  if (!hashed) return fail(hashed.error());
  return hashed->content;
}

/// Moves an ignored output into the scratch layer, entry by entry where both have a directory.
Result<void> Absorption::stash(const RelPath& path) {
  GALLEY_TRY(check_time());
  if (rules_.is_live) {
    note_ignored(path);
    return {};
  }
  GALLEY_ASSIGN(const FileStat look, stat(path));
  if (look.kind == FileKind::kOther) {
    GALLEY_ASSIGN(const Place at, place(path));
    if (is_whiteout(*at.directory, at.name)) return stash_whiteout(path);
  }
  GALLEY_ASSIGN(const FileStat there, scratch_.stat(path));
  if (look.kind == FileKind::kDirectory && there.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const bool is_merged, merge_outputs(path, look));
    if (is_merged) return {};
  }
  if (there.kind != FileKind::kAbsent) GALLEY_TRY(erase_layer(scratch_, path));
  GALLEY_TRY(make_scratch_parents(path));
  note_ignored(path);
  {
    GALLEY_ASSIGN(const Place from, place(path));
    auto moved = from.directory->rename(from.name, scratch_, path, RenameMode::kReplace);
    if (moved || moved.error().os_error != EXDEV) return moved;
  }
  return copy_output(path);
}

/// An output that the command deleted. Only what the workspace has needs to be hidden: a whiteout
/// over nothing would be listed as an entry that does not exist.
Result<void> Absorption::stash_whiteout(const RelPath& path) {
  note_ignored(path);
  GALLEY_TRY(drop_outputs(path));
  GALLEY_ASSIGN(const FileStat below, reachable_stat(overlay_.workspace(), path));
  if (below.kind == FileKind::kAbsent) return {};
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    GALLEY_ASSIGN(const FileStat there, scratch_.stat(above));
    if (there.kind != FileKind::kDirectory) continue;
    GALLEY_ASSIGN(const bool hides_all, is_opaque(scratch_, above));
    if (hides_all) return {};
  }
  GALLEY_TRY(make_scratch_parents(path));
  return hide(path);
}

/// Drops what earlier commands left at a path that git ignores.
Result<void> Absorption::drop_outputs(const RelPath& path) {
  GALLEY_ASSIGN(const FileStat there, scratch_.stat(path));
  return there.kind == FileKind::kAbsent ? Result<void>() : erase_layer(scratch_, path);
}

/// Returns false if the directory is opaque and so replaces the existing one.
Result<bool> Absorption::merge_outputs(const RelPath& path, const FileStat& stat) {
  {
    GALLEY_ASSIGN(const auto opened, layer_.at(path));
    GALLEY_ASSIGN(const bool shows_nothing, is_opaque(*opened, RelPath::root()));
    if (shows_nothing) return false;
  }
  GALLEY_ASSIGN(const auto entries, layer_.list(path));
  for (const DirectoryEntry& entry : entries) {
    if (const auto child = child_of(path, entry.name)) GALLEY_TRY(stash(*child));
  }
  GALLEY_TRY(scratch_.set_mode(path, stat.mode & kPermissionBits));
  return true;
}

/// Used when the scratch layer is not on the file system of the upper layer.
Result<void> Absorption::copy_output(const RelPath& path) {
  GALLEY_TRY(check_time());
  GALLEY_ASSIGN(const FileStat look, stat(path));
  if (look.kind == FileKind::kDirectory) {
    GALLEY_TRY(scratch_.make_directory(path, kMergedDirectoryMode));
    GALLEY_ASSIGN(const auto entries, layer_.list(path));
    for (const DirectoryEntry& entry : entries) {
      if (const auto child = child_of(path, entry.name)) GALLEY_TRY(copy_output(*child));
    }
    GALLEY_TRY(scratch_.set_mode(path, look.mode & kPermissionBits));
    return set_owner_like(scratch_, path, look);
  }
  GALLEY_ASSIGN(const Place at, place(path));
  if (look.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string target, at.directory->read_link(at.name));
    GALLEY_TRY(scratch_.make_symlink(path, target));
  } else if (look.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(const auto from, at.directory->open_file(at.name));
    GALLEY_ASSIGN(const auto to,
                  scratch_.open_writable_file(path, OpenMode::kCreateNew, kPrivateFile));
    GALLEY_TRY(copy_bytes(*from, *to, look.size));
    GALLEY_TRY(to->set_modified(look.mtime_ns));
    GALLEY_TRY(to->set_mode(look.mode & kPermissionBits));
  } else if (is_whiteout(*at.directory, at.name)) {
    return make_whiteout(scratch_, path);
  } else {
    return {};  // the next command cannot use a socket or FIFO
  }
  return set_owner_like(scratch_, path, look);
}

/// Sets the modes of objects whose ACL the commit does not keep. It keeps that of a renamed file
/// and of the directories above it.
void Absorption::narrow_modes() {
  if (modes_without_acl_.empty()) return;
  Overlay::Entries entries = overlay_.entries();
  std::set<RelPath> moved;
  for (const auto& [path, entry] : entries) {
    if (!entry.renamed_from) continue;
    for (RelPath at = path; !at.is_root() && moved.insert(at).second;) at = at.parent();
  }
  for (const auto& [path, mode] : modes_without_acl_) {
    const auto known = entries.find(path);
    if (known == entries.end() || moved.contains(path)) continue;
    Overlay::Entry entry = known->second;
    entry.now.mode = mode;
    entries.insert_or_assign(path, std::move(entry));
  }
  overlay_.restore(std::move(entries));
}

}  // namespace

Result<AbsorbReport> absorb_layer(const WritableDirectory& upper, const WritableDirectory& scratch,
                                  Overlay& overlay, const AbsorbRules& rules) {
  Overlay::Entries saved = overlay.entries();
  Absorption absorption(upper, scratch, overlay, rules);
  auto report = absorption.run();
  if (report && rules.began_ns != 0) {
    const auto doubted = check_changed_files(saved, upper, overlay, rules, *report);
    if (!doubted) report = fail(doubted.error());
  }
  if (report && report->refused.empty()) {
    const auto named = infer_renames(saved, overlay);
    if (!named) report = fail(named.error());
  }
  if (report) absorption.narrow_modes();
  if (!report || !report->refused.empty()) overlay.restore(std::move(saved));
  return report;
}

}  // namespace galley
