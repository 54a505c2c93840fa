#include "staging/sandbox/tree_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/file_mode.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

constexpr uint32_t kUpperMode = 0755;
constexpr int64_t kClockTickNs = 20'000'000;  // of coarse file times, doubled
constexpr size_t kCopyPieceBytes = size_t{16} << 20U;

/// A command cannot change a file and leave all of these unchanged: the kernel sets ctime. Link
/// counts change when another name is removed.
bool is_same(const FileStat& a, const FileStat& b, int64_t racy_from_ns) {
  const bool is_directory = a.kind == FileKind::kDirectory;
  // It changed in the clock tick in which the command may have begun, so the order is not certain.
  if (!is_directory && a.ctime_ns >= racy_from_ns) return false;
  return a.kind == b.kind && a.inode == b.inode && a.mode == b.mode && a.size == b.size &&
         (is_directory || a.ctime_ns == b.ctime_ns);
}

}  // namespace

Result<void> copy_bytes(File& from, WritableFile& to, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const ssize_t moved =
        copy_file_range(from.descriptor(), nullptr, to.descriptor(), nullptr, kCopyPieceBytes, 0);
    if (moved == 0) return {};  // it became shorter: the base check at commit reports it
    // EBADF: what comes from git's objects has no descriptor.
    if (moved < 0 && errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != EBADF) {
      return os_error(errno, "cannot copy the tree", "");
    }
    if (moved > 0) {
      done += static_cast<uint64_t>(moved);
      continue;
    }
    GALLEY_ASSIGN(const std::string piece, from.read_at(done, kCopyPieceBytes));
    if (piece.empty()) return {};
    GALLEY_TRY(to.write_at(done, piece));
    done += piece.size();
  }
  return {};
}

Result<TreeCopy> TreeCopy::make(Overlay& overlay, const std::string& workspace,
                                const WritableDirectory& target, const TreeCopySources& sources) {
  TreeCopy copy(target);
  GALLEY_ASSIGN(copy.restored_, restored_files(overlay));
  GALLEY_TRY(copy.copy_directory(overlay, RelPath::root(), sources.owner));
  OpenDirectories scratch(sources.scratch);
  GALLEY_TRY(copy.copy_scratch(overlay, scratch, RelPath::root(), sources.owner));
  GALLEY_TRY(copy.await_clock_tick());
  GALLEY_ASSIGN(const RelPath git, RelPath::parse(".git"));
  GALLEY_ASSIGN(const FileStat has_git, overlay.workspace().stat(git));
  if (has_git.kind != FileKind::kAbsent) {
    GALLEY_TRY(target.make_symlink(git, workspace + "/.git"));
  }
  return copy;
}

/// Waits, if the clock of the file system ticks soon, until its time is later than every file of
/// the copy. Otherwise files of the last tick would count as changed.
Result<void> TreeCopy::await_clock_tick() {
  int64_t last_ns = 0;
  for (const auto& [path, stat] : made_) last_ns = std::max(last_ns, stat.ctime_ns);
  constexpr int64_t kLookNs = 1'000'000;
  for (int64_t waited_ns = 0; waited_ns < kClockTickNs; waited_ns += kLookNs) {
    GALLEY_TRY(target_->set_mode(RelPath::root(), kOwnerAll));  // sets ctime
    GALLEY_ASSIGN(const FileStat now, target_->stat(RelPath::root()));
    racy_from_ns_ = now.ctime_ns;
    if (now.ctime_ns > last_ns) return {};
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLookNs));
  }
  racy_from_ns_ = last_ns - kClockTickNs;
  return {};
}

Result<void> TreeCopy::copy_directory(Overlay& overlay, const RelPath& path,
                                      const FileStat& owner) {
  GALLEY_ASSIGN(const auto entries, overlay.list(path));
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name) continue;  // a change set could not represent the name either
    // Sockets and FIFOs of the workspace are not inputs, and are skipped.
    if (entry.kind == FileKind::kOther) continue;
    GALLEY_ASSIGN(const RelPath child, path.join(*name));
    GALLEY_TRY(copy_node(overlay, child, entry.kind));
    GALLEY_TRY(set_owner_like(*target_, child, owner));
    if (entry.kind == FileKind::kDirectory) {
      GALLEY_TRY(copy_directory(overlay, child, owner));
      GALLEY_ASSIGN(const Node node, overlay.node_without_content(child));
      GALLEY_TRY(target_->set_mode(child, node.mode));
    }
    GALLEY_ASSIGN(made_[child.str()], target_->stat(child));
  }
  return {};
}

Result<void> TreeCopy::copy_node(Overlay& overlay, const RelPath& path, FileKind kind) {
  if (kind == FileKind::kDirectory) return target_->make_directory(path, kOwnerAll);
  GALLEY_ASSIGN(const Node node, overlay.node_without_content(path));
  if (node.kind == FileKind::kSymlink) {
    const auto entry = overlay.entries().find(path);
    auto link = entry == overlay.entries().end() ? overlay.workspace().read_link(path)
                                                 : overlay.read_link(path);
    if (!link) return fail(link.error());
    return target_->make_symlink(path, *link);
  }
  if (node.kind == FileKind::kRegular) return copy_file(overlay, path, node);
  return {};
}

Result<void> TreeCopy::copy_file(Overlay& overlay, const RelPath& path, const Node& node) {
  GALLEY_ASSIGN(const auto to,
                target_->open_writable_file(path, OpenMode::kCreateNew, kPrivateFile));
  const auto entry = overlay.entries().find(path);
  const bool is_changed =
      entry != overlay.entries().end() && entry->second.before != entry->second.now;
  if (is_changed) {
    GALLEY_ASSIGN(const Content content, overlay.read(path));
    GALLEY_TRY(to->write_at(0, *content));
    const int64_t written_ns = entry->second.written.ns;
    if (written_ns != 0) GALLEY_TRY(to->set_modified(written_ns));
  } else {
    GALLEY_ASSIGN(const auto from, overlay.workspace().open_file(path));
    GALLEY_ASSIGN(const FileStat stat, from->stat());
    GALLEY_TRY(copy_bytes(*from, *to, node.size));
    const Change* const restored = find_change(restored_, path);
    GALLEY_TRY(to->set_modified(restored != nullptr ? restored->written.ns : stat.mtime_ns));
  }
  return to->set_mode(node.mode);
}

/// Adds the git-ignored outputs of earlier commands to the copy; proposed paths take precedence.
Result<void> TreeCopy::copy_scratch(Overlay& overlay, OpenDirectories& scratch, const RelPath& path,
                                    const FileStat& owner) {
  GALLEY_ASSIGN(const auto entries, scratch.list(path));
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    const auto child = name ? path.join(*name) : name;
    if (!child) continue;  // commands cannot see such a name
    GALLEY_ASSIGN(const FileStat there, target_->stat(*child));
    if (entry.kind == FileKind::kDirectory) {
      if (there.kind == FileKind::kAbsent) {
        GALLEY_TRY(target_->make_directory(*child, kUpperMode));
        GALLEY_TRY(set_owner_like(*target_, *child, owner));
      }
      GALLEY_TRY(copy_scratch(overlay, scratch, *child, owner));
    } else {
      const auto known = overlay.entries().find(*child);
      if (known != overlay.entries().end() && known->second.before != known->second.now) continue;
      if (there.kind != FileKind::kAbsent) GALLEY_TRY(erase_layer(*target_, *child));
      made_.erase(child->str());
      GALLEY_ASSIGN(const auto folder, scratch.at(path));
      GALLEY_TRY(copy_output(*folder, entry, *child));
      GALLEY_ASSIGN(const FileStat now, target_->stat(*child));
      if (now.kind == FileKind::kAbsent) continue;
      GALLEY_TRY(set_owner_like(*target_, *child, owner));
    }
    GALLEY_ASSIGN(made_[child->str()], target_->stat(*child));
  }
  return {};
}

Result<void> TreeCopy::copy_output(const Directory& scratch, const DirectoryEntry& entry,
                                   const RelPath& path) {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
  if (entry.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const std::string link, scratch.read_link(name));
    return target_->make_symlink(path, link);
  }
  if (entry.kind != FileKind::kRegular) return {};  // a whiteout: it no longer exists
  GALLEY_ASSIGN(const auto from, scratch.open_file(name));
  GALLEY_ASSIGN(const FileStat stat, from->stat());
  GALLEY_ASSIGN(const auto to,
                target_->open_writable_file(path, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_TRY(copy_bytes(*from, *to, stat.size));
  GALLEY_TRY(to->set_modified(stat.mtime_ns));
  return to->set_mode(stat.mode);
}

Result<std::vector<RelPath>> TreeCopy::extract_changes(const WritableDirectory& upper) {
  seen_.clear();
  OpenDirectories tree(*target_);
  GALLEY_TRY(extract_directory(tree, RelPath::root(), upper));
  std::vector<RelPath> deleted;
  for (const auto& [text, stat] : made_) {
    if (seen_.contains(text)) continue;
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(text));
    const auto parent = seen_.find(path.parent().str());
    const bool is_highest = path.parent().is_root() ||
                            (parent != seen_.end() && parent->second.kind == FileKind::kDirectory);
    if (is_highest) deleted.push_back(path);
  }
  // The directories of the layer get their modes last, when nothing more is added.
  for (auto it = seen_.rbegin(); it != seen_.rend(); ++it) {
    if (it->second.kind != FileKind::kDirectory) continue;
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(it->first));
    GALLEY_ASSIGN(const FileStat there, upper.stat(path));
    if (there.kind == FileKind::kDirectory) GALLEY_TRY(upper.set_mode(path, it->second.mode));
  }
  return deleted;
}

Result<void> TreeCopy::extract_directory(OpenDirectories& tree, const RelPath& path,
                                         const WritableDirectory& upper) {
  GALLEY_ASSIGN(const auto entries, tree.list(path));
  for (const DirectoryEntry& entry : entries) {
    const std::string text = path.is_root() ? entry.name : path.str() + "/" + entry.name;
    const auto child = RelPath::parse(text);
    if (!child) {
      return fail(ErrorKind::kRefused, "sandbox.bad_name",
                  "the command left a name that Galley cannot hold: " + child.error().message);
    }
    if (child->is_protected()) continue;
    GALLEY_TRY(extract_entry(tree, *child, upper));
  }
  return {};
}

Result<void> TreeCopy::extract_entry(OpenDirectories& tree, const RelPath& path,
                                     const WritableDirectory& upper) {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(path.name()));
  GALLEY_ASSIGN(auto directory, tree.at(path.parent()));
  GALLEY_ASSIGN(const FileStat now, directory->stat(name));
  seen_[path.str()] = now;
  const auto made = made_.find(path.str());
  const bool is_known = made != made_.end();
  const bool was_directory = is_known && made->second.kind == FileKind::kDirectory;
  const bool is_unchanged = is_known && is_same(made->second, now, racy_from_ns_);
  if (now.kind == FileKind::kDirectory) {
    if (!is_unchanged) GALLEY_TRY(make_directories(upper, path, kUpperMode));
    if ((now.mode & kOwnerAll) != kOwnerAll) {
      GALLEY_TRY(directory->set_mode(name, now.mode | kOwnerAll));
    }
    directory.reset();
    return extract_directory(tree, path, upper);
  }
  if (is_unchanged && !was_directory) return {};
  GALLEY_TRY(make_directories(upper, path.parent(), kUpperMode));
  return directory->rename(name, upper, path, RenameMode::kReplace);
}

}  // namespace galley
