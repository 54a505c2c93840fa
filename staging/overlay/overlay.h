#pragma once

#include <functional>
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
  int64_t seen_ns = 0;  ///< wall clock time before the read
  Content content;      ///< null if it is larger than kMaxHeldBytes
  ContentId id;
};

/// Maximum size of a file whose bytes are kept in memory when it is only looked at. A larger file
/// is hashed and copied in pieces.
inline constexpr uint64_t kMaxHeldBytes = uint64_t{16} << 20U;

/// Reads and hashes one file. `seen_ns` is the wall clock time before the call.
/// Errors: as read_file(); a symbolic link or directory is an Error, too.
Result<FileOnDisk> read_from_disk(const Directory& workspace, const RelPath& path, int64_t seen_ns);

/// The base of a file that was only read, if a rebase found other content on disk. Overlay::read()
/// then reads the file again. Until then the file is as it was read, and a commit is a conflict.
inline constexpr BaseStamp kReadAgainStamp = {};

/// A view that reads through to the workspace and keeps all writes in memory or in its store.
///
/// Invariant: the workspace is never written. A path's base (node and stamp) is recorded when the
///            path is first read or written through the overlay, and never changes afterwards,
///            except as kReadAgainStamp and take_save() say. The tree is never scanned: the cost of
///            a call depends only on the paths that it names.
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
  /// The node of a path in the proposed tree. An absent path is a node of kind kAbsent. Hashes a
  /// file at its first use.
  Result<Node> node(const RelPath& path);
  /// As node(), but without the content id of a file that was not read yet.
  Result<Node> node_without_content(const RelPath& path);
  /// The owner of a file or directory in the proposed tree: the staged one, or that of the disk.
  /// Nothing for a new path, which gets its owner at the commit.
  Result<std::optional<Node::Owner>> owner(const RelPath& path);
  /// The bytes of a regular file in the proposed tree.
  Result<Content> read(const RelPath& path);
  /// Whether a file or link that was read, and is not changed, is another one on disk now. Commands
  /// see that one.
  Result<bool> is_saved_since_read(const RelPath& path);
  /// Before a caller shows a file to an agent: if it was saved since it was read, and is not
  /// changed, the save becomes its base, unless `shows_all` is false for the new content. Does
  /// nothing after track_reads(), where the first read counts.
  using ShowsAll = std::function<bool(std::string_view)>;
  Result<void> take_save(const RelPath& path, const ShowsAll& shows_all = {});
  Result<std::string> read_link(const RelPath& path);
  /// The sorted entries of a directory in the proposed tree, without protected names.
  Result<std::vector<DirectoryEntry>> list(const RelPath& directory);

  // --- writing -----------------------------------------------------------------------------
  /// Refuses the name of a new file if it looks like a path of another system or of a shell (`~/a`,
  /// `C:\a`, `src\a`). The message names the path that was probably meant. write() and the other
  /// edits check every new name; put() does not.
  Result<void> check_new_name(const RelPath& path);
  /// Writes `content` to `path` and makes missing parents. An existing file keeps its mode. A new
  /// file gets `mode_if_new`, or 0666 without the bits of the umask. A symlink is replaced only
  /// with `replace_symlink`.
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
  /// Removes a directory and everything below it.
  Result<void> remove_tree(const RelPath& path);
  /// Moves a file, symlink or whole directory. `to` must be absent.
  Result<void> move(const RelPath& from, const RelPath& to);
  Result<void> copy(const RelPath& from, const RelPath& to);
  /// Sets permission bits (& 0777) of a file or directory.
  Result<void> set_mode(const RelPath& path, uint32_t mode);
  /// Stages the owner of a file or directory; an id that is not given stays. It is refused if this
  /// process could not set it. Returns whether that differs from the owner so far.
  struct OwnerWish {
    std::optional<uint32_t> uid;
    std::optional<uint32_t> gid;
  };
  Result<bool> set_owner(const RelPath& path, const OwnerWish& wish);
  Result<void> make_symlink(const RelPath& path, const std::string& target);
  /// Makes a directory and its missing parents. The default of `mode`, also used for parents, is
  /// 0777 without the bits of the umask.
  Result<void> make_directory(const RelPath& path, std::optional<uint32_t> mode = {});
  Result<void> remove_directory(const RelPath& path);
  /// Sets a node whose content is already in the store, for undo and for the results of a command.
  /// The default of `written` is now. A node without an owner keeps the staged owner of the path.
  Result<void> put(const RelPath& path, const Node& node,
                   std::optional<Change::WriteTime> written = {});

  // --- the result ---------------------------------------------------------------------------
  /// All changes against the bases, with the declared rename and copy sources.
  [[nodiscard]] ChangeSet changes() const;
  /// Every path that was touched but not changed. After track_reads(), also every directory that
  /// was listed.
  [[nodiscard]] std::vector<Read> reads() const;
  /// Hands over files that were just read from the workspace. The first touch of such a path uses
  /// the file instead of the disk. Replaces earlier expected files.
  void expect(std::map<RelPath, FileOnDisk> files) { expected_ = std::move(files); }
  [[nodiscard]] const Clock& clock() const { return *clock_; }

  /// Records listings and failed look-ups from now on, for serializable isolation.
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
    std::optional<ContentId> listing = {};  ///< of the directory on disk when it was first listed
    Change::WriteTime written = {};         ///< of `now`
    bool operator==(const Entry&) const = default;
  };
  /// Compares the times, too, which == leaves out.
  struct EqualWithTimes {
    bool operator()(const Entry& a, const Entry& b) const {
      return a == b && a.written.ns == b.written.ns;
    }
  };
  using Entries = SharedMap<RelPath, Entry>;
  /// The state for restore(), used by savepoints, forks and the stage file. A copy takes constant
  /// time.
  [[nodiscard]] const Entries& entries() const { return entries_; }
  void restore(Entries entries);
  /// Takes over the entries of the other overlay.
  void share(const Overlay& other);
  /// Returns another overlay of the same tree, for reading on another thread. Neither sees later
  /// changes of the other.
  [[nodiscard]] Overlay reading_view() const;
  /// Takes over the bases that a view has read. Returns false, and takes nothing, if the view saw a
  /// path in another state than this overlay has recorded, or if there would be too many paths.
  [[nodiscard]] bool take_reads(const Overlay& view);
  /// A number that changes with every call that may change the entries.
  [[nodiscard]] uint64_t version() const { return version_; }
  /// Begins to record changes. Pass the result to end_step(). Steps may be nested. The cost depends
  /// on the paths touched during the step, not on the number of staged changes.
  [[nodiscard]] size_t begin_step();
  /// Ends a step. Returns the changes of all nodes since its beginning, without bases.
  ChangeSet end_step(size_t begun);

 private:
  /// The names in one directory on disk, and the index of the first that is not known to be gone.
  struct Listing {
    std::vector<DirectoryEntry> names;
    size_t first_live = 0;
  };

  /// The state of a path before it was touched in a step.
  struct Touch {
    RelPath path;
    Node held;
    Node on_disk;
  };

  /// Returns the entries for a change, and advances the version.
  Entries& changing();
  Result<Entry*> touch(const RelPath& path);
  Result<Entry> look(const RelPath& path, bool with_content);
  Result<void> read_again(const RelPath& path);
  Result<bool> is_other_on_disk(const RelPath& path, const Entry& entry);
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
  std::map<ContentId, Content> recent_;  ///< contents that may not be in the store yet
  size_t recent_bytes_ = 0;
  std::map<RelPath, FileOnDisk> expected_;
  bool tracks_reads_ = false;
  std::vector<Touch> touches_;  ///< of the open steps
  size_t open_steps_ = 0;
};

/// Keeps new contents in memory, on top of read-only stores. So an undo or a merge need not copy
/// the contents of a journal.
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
      // An error of another store explains more than "unknown" in this one.
      if (below || below.error().kind != ErrorKind::kInternal) found = std::move(below);
    }
    return found;
  }

  Result<void> read(const ContentId& id, const UsePiece& use) const override {
    bool was_used = false;
    const auto note_use = [&](std::string_view piece) {
      was_used = true;
      return use(piece);
    };
    auto found = fresh_->read(id, note_use);
    for (const auto& store : below_) {
      if (found || was_used) break;
      auto below = store->read(id, note_use);
      if (below || was_used || below.error().kind != ErrorKind::kInternal) found = std::move(below);
    }
    return found;
  }

  /// A large content is usually in one of the stores below, and is not read into memory.
  Result<void> copy(const ContentId& id, const Directory& from, const RelPath& name) override {
    const auto is_known = read(id, [](std::string_view /*piece*/) { return Result<void>(); });
    return is_known ? Result<void>() : fresh_->copy(id, from, name);
  }

 private:
  std::shared_ptr<ContentStore> fresh_;
  std::vector<std::shared_ptr<const ContentStore>> below_;
};

/// The changes of directories that are not implied by changed files: made or removed empty, or with
/// a changed mode. Sorted by path. The pointers refer to `changes`.
[[nodiscard]] std::vector<const Change*> bare_directories(const ChangeSet& changes);

}  // namespace galley
