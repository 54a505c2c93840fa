// Reading back what a command changed. What each object of an overlayfs upper layer means is in
// the kernel's overlayfs.rst; ours adds what a change set cannot hold and therefore refuses.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/limits.h"
#include "staging/sandbox/layer.h"
#include "staging/sandbox/tree_copy.h"

namespace galley {
namespace {

constexpr uint32_t kPermissionBits = 0777;
constexpr uint32_t kOwnerRead = 0400;
constexpr size_t kHashPieceBytes = size_t{1} << 20U;
constexpr size_t kMaxRefusedKept = 100;
constexpr uint32_t kMergedDirectoryMode = 0755;
constexpr uint32_t kOwnerOnly = 0600;

Result<ContentId> hash_file(const Directory& directory, const RelPath& path, uint64_t& size) {
  GALLEY_ASSIGN(const auto file, directory.open_file(path, OpenMode::kRead));
  ContentHasher hasher;
  size = 0;
  for (;;) {
    GALLEY_ASSIGN(const std::string piece, file->read_at(size, kHashPieceBytes));
    if (piece.empty()) return hasher.finish();
    size += piece.size();
    hasher.update(piece);
  }
}

/// One pass over an upper layer.
class Absorption {
 public:
  Absorption(const Directory& scratch, Overlay& overlay, const AbsorbRules& rules)
      : scratch_(scratch), overlay_(overlay), rules_(rules) {}

  Result<AbsorbReport> run(const Directory& upper) {
    for (const RelPath& path : rules_.deleted) GALLEY_TRY(absorb_whiteout(path));
    GALLEY_TRY(absorb_directory(upper, RelPath::root(), Below::kMerged));
    return std::move(report_);
  }

 private:
  /// What one directory of the layer came to, for its parent's question whether it counts.
  struct Tally {
    uint64_t staged = 0;
    uint64_t ignored = 0;
  };

  /// Below an opaque directory every other one is so too, marked or not.
  enum class Below : uint8_t { kMerged, kOpaque };

  Result<Tally> absorb_directory(const Directory& directory, const RelPath& path, Below below);
  Result<void> absorb_entry(const Directory& directory, const DirectoryEntry& entry,
                            const RelPath& path, Below below);
  Result<void> absorb_whiteout(const RelPath& path);
  Result<void> absorb_subdirectory(const Directory& directory, const RelPath& name,
                                   const RelPath& path, Below below);
  Result<void> absorb_file(const Directory& directory, const RelPath& name, const RelPath& path);
  Result<void> absorb_symlink(const Directory& directory, const RelPath& name, const RelPath& path);
  Result<Below> look_for_marks(const Directory& opened, const RelPath& path, Below below);
  Result<void> replace_directory(const Directory& opened, const RelPath& path);
  Result<void> remove(const RelPath& path, const Node& now);
  Result<void> put(const RelPath& path, const Node& node, const Node& now);
  Result<void> stash(const Directory& directory, const RelPath& name, const RelPath& path);
  Result<void> copy_output(const Directory& directory, const RelPath& name, const RelPath& path);
  Result<void> make_scratch_parents(const RelPath& path);
  Result<bool> is_ignored(const RelPath& path, bool is_directory) const;
  Result<bool> is_same_file(const RelPath& path, const Node& now, const Node& found) const;
  void refuse(const std::string& path, std::string why);

  const Directory& scratch_;
  Overlay& overlay_;
  const AbsorbRules& rules_;
  AbsorbReport report_;
};

void Absorption::refuse(const std::string& path, std::string why) {
  if (report_.refused.size() < kMaxRefusedKept) report_.refused.push_back({path, std::move(why)});
}

/// What is proposed already stays proposed, whatever git says of its name.
Result<bool> Absorption::is_ignored(const RelPath& path, bool is_directory) const {
  if (rules_.propose_ignored || !rules_.is_ignored) return false;
  const auto entry = overlay_.entries().find(path);
  if (entry != overlay_.entries().end() && entry->second.before != entry->second.now) return false;
  return rules_.is_ignored(path, is_directory);
}

Result<Absorption::Tally> Absorption::absorb_directory(const Directory& directory,
                                                       const RelPath& path, Below below) {
  const Tally before{report_.staged, report_.ignored};
  GALLEY_ASSIGN(const auto entries, directory.list());
  for (const DirectoryEntry& entry : entries) {
    const std::string text = path.is_root() ? entry.name : path.str() + "/" + entry.name;
    const auto child = RelPath::parse(text);
    if (!child) {
      refuse(text, "has a name that Galley cannot hold: " + child.error().message);
      continue;
    }
    if (child->is_protected()) {
      ++report_.protected_paths;
      continue;
    }
    if (std::find(rules_.keep.begin(), rules_.keep.end(), *child) != rules_.keep.end()) continue;
    GALLEY_TRY(absorb_entry(directory, entry, *child, below));
  }
  return Tally{report_.staged - before.staged, report_.ignored - before.ignored};
}

Result<void> Absorption::absorb_entry(const Directory& directory, const DirectoryEntry& entry,
                                      const RelPath& path, Below below) {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
  switch (entry.kind) {
    case FileKind::kDirectory:
      return absorb_subdirectory(directory, name, path, below);
    case FileKind::kRegular:
      return absorb_file(directory, name, path);
    case FileKind::kSymlink:
      return absorb_symlink(directory, name, path);
    case FileKind::kAbsent:
    case FileKind::kOther:
      break;
  }
  if (is_whiteout(directory, name)) return absorb_whiteout(path);
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) {
    ++report_.ignored;  // a socket in build/ means nothing to the next command
  } else {
    refuse(path.str(), "is a FIFO, socket or device, which a change cannot hold");
  }
  return {};
}

Result<void> Absorption::absorb_whiteout(const RelPath& path) {
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  const bool is_directory = now.kind == FileKind::kDirectory;
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, is_directory));
  GALLEY_TRY(erase_layer(scratch_, path));
  if (!ignored) return remove(path, now);
  ++report_.ignored;
  if (now.kind == FileKind::kAbsent) return {};
  GALLEY_TRY(make_scratch_parents(path));
  auto hidden = make_whiteout(scratch_, path);
  // Where no whiteout can be made (the copy level on overlayfs) an ignored file that a command
  // deleted is there again for the next one, as it is in the workspace.
  if (!hidden && hidden.error().os_error == EPERM) return {};
  return hidden;
}

/// Deletes whatever the proposed tree has at a path.
Result<void> Absorption::remove(const RelPath& path, const Node& now) {
  if (now.kind == FileKind::kAbsent) return {};
  if (now.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const FileStat base, overlay_.workspace().stat(path));
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
  }
  if (now.kind == FileKind::kOther) {
    refuse(path.str(), "was a special file, which no edit may delete");
    return {};
  }
  ++report_.staged;
  return overlay_.put(path, Node{});
}

Result<void> Absorption::put(const RelPath& path, const Node& node, const Node& now) {
  if (now.kind == FileKind::kOther) {
    refuse(path.str(), "would take the place of a special file, which no edit may do");
    return {};
  }
  if (now.kind == FileKind::kDirectory && node.kind != FileKind::kDirectory) {
    GALLEY_TRY(remove(path, now));
  }
  ++report_.staged;
  return overlay_.put(path, node);
}

/// Whether overlayfs copied the file up and the command then changed nothing.
Result<bool> Absorption::is_same_file(const RelPath& path, const Node& now,
                                      const Node& found) const {
  if (now.kind != found.kind || now.mode != found.mode || now.size != found.size) return false;
  if (!now.content.is_none()) return now.content == found.content;
  uint64_t size = 0;
  GALLEY_ASSIGN(const ContentId base, hash_file(overlay_.workspace(), path, size));
  return base == found.content;
}

Result<void> Absorption::absorb_file(const Directory& directory, const RelPath& name,
                                     const RelPath& path) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) return stash(directory, name, path);
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
  if (stat.size > limits::kMaxFileBytes) {
    refuse(path.str(), "is larger than " + std::to_string(limits::kMaxFileBytes) + " bytes");
    return {};
  }
  Node found;
  found.kind = FileKind::kRegular;
  found.mode = stat.mode & kPermissionBits;  // setuid and setgid are never proposed
  const bool is_unreadable = (stat.mode & kOwnerRead) == 0;
  if (is_unreadable) GALLEY_TRY(directory.set_mode(name, found.mode | kOwnerRead));
  GALLEY_ASSIGN(found.content, hash_file(directory, name, found.size));
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  GALLEY_ASSIGN(const bool is_same, is_same_file(path, now, found));
  if (is_same) return {};
  GALLEY_TRY(overlay_.store()->adopt(found.content, directory, name));
  // Another name of the same file is still to be looked at.
  if (is_unreadable && stat.nlink > 1) GALLEY_TRY(directory.set_mode(name, found.mode));
  return put(path, found, now);
}

Result<void> Absorption::absorb_symlink(const Directory& directory, const RelPath& name,
                                        const RelPath& path) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, false));
  if (ignored) return stash(directory, name, path);
  GALLEY_ASSIGN(std::string target, directory.read_link(name));
  Node found;
  found.kind = FileKind::kSymlink;
  found.size = target.size();
  GALLEY_ASSIGN(found.content, overlay_.store()->put(std::move(target)));
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  if (now == found) return {};
  return put(path, found, now);
}

Result<void> Absorption::absorb_subdirectory(const Directory& directory, const RelPath& name,
                                             const RelPath& path, Below below) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, true));
  if (ignored) return stash(directory, name, path);
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
  auto opened = directory.open_directory(name);
  if (!opened || !(*opened)->list()) {
    refuse(path.str(), "is a directory that cannot be read");
    return {};
  }
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  const Node found{FileKind::kDirectory, stat.mode & kPermissionBits, {}, 0};
  GALLEY_ASSIGN(const Below inner, look_for_marks(**opened, path, below));
  if (now.kind == FileKind::kDirectory) {
    if (inner == Below::kOpaque) GALLEY_TRY(replace_directory(**opened, path));
    if (now.mode != found.mode) GALLEY_TRY(put(path, found, now));
    GALLEY_TRY(absorb_directory(**opened, path, inner));
    return {};
  }
  if (now.kind != FileKind::kAbsent) {
    GALLEY_TRY(put(path, found, now));
    GALLEY_TRY(absorb_directory(**opened, path, inner));
    return {};
  }
  GALLEY_ASSIGN(const Tally inside, absorb_directory(**opened, path, inner));
  // A directory that holds ignored outputs only is no more proposed than they are.
  if (inside.staged == 0 && inside.ignored != 0) return {};
  return put(path, found, now);
}

Result<Absorption::Below> Absorption::look_for_marks(const Directory& opened, const RelPath& path,
                                                     Below below) {
  GALLEY_ASSIGN(const auto attributes, opened.attributes(RelPath::root()));
  for (const ExtendedAttribute& attribute : attributes) {
    if (attribute.name == "user.overlay.opaque" && attribute.value == "y") below = Below::kOpaque;
    if (attribute.name == "user.overlay.redirect" || attribute.name == "user.overlay.metacopy") {
      refuse(path.str(), "uses an overlayfs feature that was not asked for");
    }
  }
  return below;
}

/// An opaque directory shows nothing of the one below: what it does not hold is deleted.
Result<void> Absorption::replace_directory(const Directory& opened, const RelPath& path) {
  GALLEY_TRY(erase_layer(scratch_, path));
  GALLEY_ASSIGN(const auto held, opened.list());
  std::set<std::string> names;
  for (const DirectoryEntry& entry : held) names.insert(entry.name);
  GALLEY_ASSIGN(const auto shown, overlay_.list(path));
  for (const DirectoryEntry& entry : shown) {
    if (names.contains(entry.name)) continue;
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
    GALLEY_ASSIGN(const RelPath child, path.join(name));
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
  GALLEY_ASSIGN(FileStat like, overlay_.workspace().stat(parent));
  if (like.kind != FileKind::kDirectory) {
    GALLEY_ASSIGN(like, overlay_.workspace().stat(RelPath::root()));
    like.mode = kMergedDirectoryMode;
  }
  GALLEY_TRY(scratch_.set_mode(parent, like.mode));
  return imitate_owner(scratch_, parent, like);
}

/// Moves an ignored output into the scratch layer, entry by entry where both have a directory.
Result<void> Absorption::stash(const Directory& directory, const RelPath& name,
                               const RelPath& path) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
  GALLEY_ASSIGN(const FileStat there, scratch_.stat(path));
  const bool both_directories =
      stat.kind == FileKind::kDirectory && there.kind == FileKind::kDirectory;
  if (both_directories) {
    GALLEY_ASSIGN(const auto opened, directory.open_directory(name));
    GALLEY_ASSIGN(const auto attributes, opened->attributes(RelPath::root()));
    const bool is_opaque = std::any_of(attributes.begin(), attributes.end(), [](const auto& a) {
      return a.name == "user.overlay.opaque";
    });
    if (!is_opaque) {
      GALLEY_ASSIGN(const auto entries, opened->list());
      for (const DirectoryEntry& entry : entries) {
        GALLEY_ASSIGN(const RelPath child_name, RelPath::parse(entry.name));
        GALLEY_ASSIGN(const RelPath child, path.join(child_name));
        GALLEY_TRY(stash(*opened, child_name, child));
      }
      return scratch_.set_mode(path, stat.mode & kPermissionBits);
    }
  }
  if (there.kind != FileKind::kAbsent) GALLEY_TRY(erase_layer(scratch_, path));
  GALLEY_TRY(make_scratch_parents(path));
  ++report_.ignored;
  auto moved = directory.rename(name, scratch_, path, RenameMode::kReplace);
  if (moved || moved.error().os_error != EXDEV) return moved;
  return copy_output(directory, name, path);
}

/// For a scratch layer on another file system than the upper one.
Result<void> Absorption::copy_output(const Directory& directory, const RelPath& name,
                                     const RelPath& path) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
  if (stat.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string target, directory.read_link(name));
    GALLEY_TRY(scratch_.make_symlink(path, target));
  } else if (stat.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(const auto from, directory.open_file(name, OpenMode::kRead));
    GALLEY_ASSIGN(const auto to, scratch_.open_file(path, OpenMode::kCreateNew, kOwnerOnly));
    GALLEY_TRY(copy_bytes(*from, *to, stat.size));
    GALLEY_TRY(to->set_mode(stat.mode & kPermissionBits));
  } else if (stat.kind == FileKind::kDirectory) {
    GALLEY_ASSIGN(const auto opened, directory.open_directory(name));
    GALLEY_TRY(scratch_.make_directory(path, kMergedDirectoryMode));
    GALLEY_ASSIGN(const auto entries, opened->list());
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(const RelPath child_name, RelPath::parse(entry.name));
      GALLEY_ASSIGN(const RelPath child, path.join(child_name));
      GALLEY_TRY(copy_output(*opened, child_name, child));
    }
    GALLEY_TRY(scratch_.set_mode(path, stat.mode & kPermissionBits));
  } else if (is_whiteout(directory, name)) {
    return make_whiteout(scratch_, path);
  } else {
    return {};  // a socket or FIFO means nothing to the next command
  }
  return imitate_owner(scratch_, path, stat);
}

/// Paths that first came up now get their base from the disk as it is now. One that changed while
/// the command ran would lend its new base to an effect on its old content, and a commit would undo
/// somebody else's change without a conflict.
void refuse_changed_meanwhile(const Overlay::Entries& before, const Overlay::Entries& after,
                              const AbsorbRules& rules, AbsorbReport& report) {
  // Reading back takes time too; a stamp from farther ahead is from a clock that was set back.
  constexpr int64_t kReadingBackNs = 60'000'000'000;
  for (const auto& [path, entry] : after) {
    const bool is_file =
        entry.before.kind == FileKind::kRegular || entry.before.kind == FileKind::kSymlink;
    if (!is_file || entry.before == entry.now || before.contains(path)) continue;
    const int64_t changed = entry.base.ctime_ns;
    if (changed <= rules.began_ns || changed > rules.ended_ns + kReadingBackNs) continue;
    report.refused.push_back({path.str(), "changed on disk while the command ran; run it again"});
  }
}

}  // namespace

Result<AbsorbReport> absorb_layer(const Directory& upper, const Directory& scratch,
                                  Overlay& overlay, const AbsorbRules& rules) {
  Overlay::Entries saved = overlay.entries();
  auto report = Absorption(scratch, overlay, rules).run(upper);
  if (report && rules.began_ns != 0) {
    refuse_changed_meanwhile(saved, overlay.entries(), rules, *report);
  }
  if (!report || !report->refused.empty()) overlay.restore(std::move(saved));
  return report;
}

}  // namespace galley
