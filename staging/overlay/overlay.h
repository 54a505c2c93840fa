#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "base/shared_map.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

/// A regular file of the workspace, read and hashed.
struct FileOnDisk {
  FileStat stat;
  int64_t seen_ns = 0;  ///< wall clock before the read
  Content content;
  ContentId id;
};

/// Reads and hashes one file; `seen_ns` is the wall clock before the call.
/// Errors: as read_file(); a symbolic link or directory is an Error, too.
Result<FileOnDisk> read_from_disk(const Directory& workspace, const RelPath& path, int64_t seen_ns);

/// A view that reads through to the workspace and keeps all writes in memory or in its store.
///
/// Invariant: the workspace is never written. A path's base (node and stamp) is recorded when it is
///            first read or written through the overlay, and never changes afterwards. Nothing is
///            scanned: the cost of a call depends on the paths that it names, not on the tree.
/// Ownership: borrows the workspace directory, which must outlive it; shares its ContentStore.
/// Threads:   confined to one thread. Different overlays of one workspace may be used at the same
///            time.
/// Errors:    kRefused with reason `path.protected` for `.git`, `.galley`, `.sage`;
///            `path.through_symlink`, `path.special_file`; kNotFound `path.not_found`; kRefused
///            `path.is_directory`, `path.not_directory`, `path.exists`, `path.directory_not_empty`;
///            kQuota `limit.*`. An Error means that nothing has changed.
class Overlay {
 public:
  Overlay(const Directory& workspace, std::shared_ptr<ContentStore> store, const Clock& clock);
  Overlay(Overlay&&) = default;
  Overlay& operator=(Overlay&&) = default;
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  // --- reading -----------------------------------------------------------------------------
  /// The node of a path in the proposed tree; kAbsent is a value. Hashes a file at its first use.
  Result<Node> node(const RelPath& path);
  /// As node(), without hashing: kind, mode and size only (no content id for files not seen yet).
  Result<Node> node_without_content(const RelPath& path);
  /// The bytes of a regular file in the proposed tree.
  Result<Content> read(const RelPath& path);
  Result<std::string> read_link(const RelPath& path);
  /// Entries of a directory of the proposed tree, sorted; protected names are left out.
  Result<std::vector<DirectoryEntry>> list(const RelPath& directory);

  // --- writing -----------------------------------------------------------------------------
  /// Refuses the name of a new file if it looks like a path of another system or of a shell (`~/a`,
  /// `C:\a`, `src\a`), and names the path in the workspace that was probably meant. Every name from
  /// a caller is checked; put() accepts existing names.
  Result<void> check_new_name(const RelPath& path);
  /// Writes `content` to `path` and makes missing parents. An existing file keeps its mode; a new
  /// one gets `mode_if_new`, or 0666 without the bits of the umask. Replaces a symlink only with
  /// `replace_symlink`.
  struct WriteOptions {
    std::optional<uint32_t> mode_if_new;
    bool must_be_new = false;
    bool replace_symlink = false;
    std::optional<ContentId> id = {};  ///< of the content, if the caller has hashed it
  };
  Result<void> write(const RelPath& path, const Content& content, const WriteOptions& options);
  Result<void> write(const RelPath& path, std::string content, const WriteOptions& options) {
    return write(path, std::make_shared<const std::string>(std::move(content)), options);
  }
  Result<void> write(const RelPath& path, std::string content) {
    return write(path, std::move(content), WriteOptions());
  }
  /// Removes a file or symlink, then every parent directory that becomes empty (as git does).
  Result<void> remove(const RelPath& path);
  /// Removes a directory and all below it.
  Result<void> remove_tree(const RelPath& path);
  /// Moves a file, symlink or whole directory to a path that is absent.
  Result<void> move(const RelPath& from, const RelPath& to);
  Result<void> copy(const RelPath& from, const RelPath& to);
  /// Sets permission bits (& 0777) of a file or directory.
  Result<void> set_mode(const RelPath& path, uint32_t mode);
  Result<void> make_symlink(const RelPath& path, const std::string& target);
  /// Without `mode` it gets 0777 without the bits of the umask, like missing parents.
  Result<void> make_directory(const RelPath& path, std::optional<uint32_t> mode = {});
  Result<void> remove_directory(const RelPath& path);
  /// Sets a node whose content is already in the store (absorbing a sandbox layer, undo). The
  /// default of `written` is now.
  Result<void> put(const RelPath& path, const Node& node,
                   std::optional<Change::WriteTime> written = {});

  // --- the result ---------------------------------------------------------------------------
  /// Everything that differs from the bases, with the declared rename and copy sources.
  [[nodiscard]] ChangeSet changes() const;
  /// The reads: every path that was touched but not changed and, since track_reads(), every
  /// directory that was listed.
  [[nodiscard]] std::vector<Read> reads() const;
  /// Files that were just read from the workspace: the first touch of a path takes its file from
  /// here instead of the disk. Replaces earlier expected files.
  void expect(std::map<RelPath, FileOnDisk> files) { expected_ = std::move(files); }
  [[nodiscard]] const Clock& clock() const { return *clock_; }

  /// From now on, listings and failed look-ups are recorded, too: serializable isolation.
  void track_reads() { tracks_reads_ = true; }
  [[nodiscard]] bool tracks_reads() const { return tracks_reads_; }
  [[nodiscard]] const std::shared_ptr<ContentStore>& store() const { return store_; }
  [[nodiscard]] const Directory& workspace() const { return *workspace_; }

  // --- snapshots ----------------------------------------------------------------------------
  /// One touched path: its base, and its current node in the proposed tree.
  struct Entry {
    Node before;
    BaseStamp base;
    Node now;
    std::optional<RelPath> renamed_from;
    std::optional<RelPath> copied_from;
    std::optional<ContentId> listing = {};  ///< of the directory on disk, when it was first listed
    Change::WriteTime written = {};         ///< of `now`
    bool operator==(const Entry&) const = default;
  };
  using Entries = SharedMap<RelPath, Entry>;
  /// A value for restore(): savepoints, forks and the stage file keep it. A copy takes constant
  /// time, however much is staged.
  [[nodiscard]] const Entries& entries() const { return entries_; }
  void restore(Entries entries);
  /// Takes over the entries of the other overlay.
  void share(const Overlay& other);
  /// Another overlay of the same tree, for reading on another thread. Neither sees what the other
  /// touches afterwards.
  [[nodiscard]] Overlay reading_view() const;
  /// Takes over the bases that a view has read. False, and nothing is taken, when the view saw a
  /// path in another state than this overlay has recorded, or when there are too many.
  [[nodiscard]] bool take_reads(const Overlay& view);
  /// Changes with every call that may have changed the entries.
  [[nodiscard]] uint64_t version() const { return version_; }
  /// Begins to record changes; end_step() takes the returned number. Steps nest. The cost depends
  /// on the paths touched meanwhile, not on what is staged.
  [[nodiscard]] size_t begin_step();
  /// Every path whose node differs from the beginning of the step, without bases.
  ChangeSet end_step(size_t begun);

 private:
  /// Names of one directory on disk, and the first of them that is not yet known to be gone.
  struct Listing {
    std::vector<DirectoryEntry> names;
    size_t first_live = 0;
  };

  /// The entry of a path before it was touched in a step.
  struct Touch {
    RelPath path;
    Node held;
    Node on_disk;
  };

  /// The entries, for changing them.
  Entries& changing();
  Result<Entry*> touch(const RelPath& path);
  Result<Entry> look(const RelPath& path, bool with_content);
  Result<Node> disk_node(const RelPath& path, bool with_content, BaseStamp& stamp);
  std::optional<Node> file_on_disk(const RelPath& path, BaseStamp& stamp);
  Result<void> check_name(const RelPath& path) const;
  Result<bool> ancestors_on_disk(const RelPath& path) const;
  Result<FileKind> kind_now(const RelPath& path);
  Result<std::vector<RelPath>> missing_parents(const RelPath& path);
  Result<void> make_parents(const RelPath& path);
  Result<void> keep_base_content(const RelPath& path, const Entry& entry);
  Result<void> prune_empty_parents(const RelPath& path);
  Result<bool> is_empty_now(const RelPath& directory);
  Result<Listing*> disk_listing(const RelPath& directory);
  Result<void> take(const RelPath& from, const RelPath& to, bool keep_source);
  Result<std::vector<RelPath>> tree_below(const RelPath& directory);
  Result<Content> read_disk(const RelPath& path);
  void remember(const Content& content, const ContentId& id);
  void note_created(const RelPath& path);
  [[nodiscard]] Change::WriteTime now() const { return {clock_->wall_ns(), false}; }
  Result<void> note_listing(const RelPath& directory, const Listing& listing);

  const Directory* workspace_;
  std::shared_ptr<ContentStore> store_;
  const Clock* clock_;
  Entries entries_;
  uint64_t version_ = 0;
  std::map<RelPath, Listing> listings_;
  std::map<ContentId, Content> recent_;  ///< read but perhaps not yet in the store
  size_t recent_bytes_ = 0;
  std::map<RelPath, FileOnDisk> expected_;
  bool tracks_reads_ = false;
  std::vector<Touch> touches_;  ///< of the open steps
  size_t open_steps_ = 0;
};

/// New contents in memory above read-only stores: an undo or a merge need not copy contents that a
/// journal has.
class LayeredStore final : public ContentStore {
 public:
  explicit LayeredStore(std::vector<std::shared_ptr<const ContentStore>> below)
      : fresh_(make_memory_store()), below_(std::move(below)) {}

  Result<void> keep(const ContentId& id, const Content& content) override {
    return fresh_->keep(id, content);
  }

  Result<Content> get(const ContentId& id) const override {
    Result<Content> found = fresh_->get(id);
    for (const auto& store : below_) {
      if (found) break;
      auto below = store->get(id);
      // "Lost" in another store explains more than "unknown" in this one.
      if (below || below.error().kind != ErrorKind::kInternal) found = std::move(below);
    }
    return found;
  }

 private:
  std::shared_ptr<ContentStore> fresh_;
  std::vector<std::shared_ptr<const ContentStore>> below_;
};

/// The changes of directories that no file in the change set implies: made or removed empty, or
/// with a changed mode. Sorted by path; the pointers are into `changes`.
[[nodiscard]] std::vector<const Change*> bare_directories(const ChangeSet& changes);

}  // namespace galley
