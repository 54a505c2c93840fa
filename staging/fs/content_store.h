#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Stores staged contents by their ids, in memory or in files of a directory.
///
/// Threads: safe to share.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  /// Stores these bytes and returns their id. Equal bytes are stored once.
  Result<ContentId> put(const Content& content);
  Result<ContentId> put(std::string content) {
    return put(std::make_shared<const std::string>(std::move(content)));
  }
  /// Stores bytes. `id` must be their hash.
  virtual Result<void> keep(const ContentId& id, const Content& content) = 0;
  /// Returns the content with this id.
  /// Errors: kInternal, reason `stage.content_missing`, if the content was never stored or is
  ///         damaged.
  virtual Result<Content> get(const ContentId& id) const = 0;
  /// Takes a piece of a content.
  using UsePiece = std::function<Result<void>(std::string_view)>;
  /// Passes on the content with this id, piece by piece, with a bounded use of memory if it is a
  /// file. After an error, also one of get(), what was passed on must not be used.
  virtual Result<void> read(const ContentId& id, const UsePiece& use) const;
  /// Writes the content with this id into a new, empty file, with holes, as read() passes it on.
  /// Errors: those of read(); then the file must not be used.
  Result<void> write(const ContentId& id, WritableFile& file) const;
  /// Stores the content of a file. `id` must be its hash, and no other process may be able to write
  /// the file. A store on the same disk moves the file, so it may be gone afterwards.
  virtual Result<void> adopt(const ContentId& id, const WritableDirectory& from,
                             const RelPath& name);
  /// As adopt(), but the file stays and other processes may write it.
  /// Errors: kInternal, reason `stage.content_changed`, if its hash is not `id`.
  virtual Result<void> copy(const ContentId& id, const Directory& from, const RelPath& name);
};

[[nodiscard]] std::shared_ptr<ContentStore> make_memory_store();

/// Returns a store in `directory`: small contents are in packs, large and adopted ones in files
/// `<hex id>`. Contents are verified against their ids when they are read from disk.
[[nodiscard]] std::shared_ptr<ContentStore> make_disk_store(
    std::shared_ptr<WritableDirectory> directory);

/// Maximum size of a content in a pack. A larger content gets its own file.
inline constexpr size_t kMaxPackedBytes = 262'144;
/// A pack of this size gets no more contents.
inline constexpr uint64_t kMaxPackBytes = 67'108'864;
/// Maximum number of packs in one directory, and of concurrent writers.
inline constexpr size_t kMaxPacks = 256;
/// Maximum number of contents whose places in packs are kept in memory.
inline constexpr size_t kMaxPackedContents = 262'144;

/// Stores small contents one after the other in files `pack-<n>` of a directory.
///
/// A new file for each content would cost more than the rest of a small edit: the file system must
/// find a free inode, which is slow if many files were deleted recently. A pack only grows at its
/// end. Each record is `<64 hex digits> <bytes>\n`, the bytes, `\n`. Only the last record can be
/// incomplete; the next writer of the pack removes it.
///
/// A writer holds the lock of its pack, so several processes can write to one directory, each to
/// its own pack. Readers do not lock.
///
/// Invariant: every reader finds all contents that keep() has stored, until the directory is
///            removed. Bytes are returned as they are on disk; the caller must verify them against
///            their id.
/// Threads:   safe to share.
/// Errors:    those of the directory.
class ContentPacks {
 public:
  /// Borrows the directory.
  explicit ContentPacks(const WritableDirectory& directory) : directory_(&directory) {}

  /// Stores a content. Returns false, and stores nothing, if all packs are in use or full, or if
  /// kMaxPackedContents contents are known.
  Result<bool> keep(const ContentId& id, const std::string& content);
  /// Returns a content whose place in a pack is already known; otherwise nothing.
  Result<std::optional<std::string>> find(const ContentId& id);
  /// As find(), but first reads the records that other writers have added.
  Result<std::optional<std::string>> find_after_scan(const ContentId& id);

 private:
  struct Place {
    size_t pack;
    uint64_t offset;
    size_t size;
  };
  Result<bool> claim();
  Result<void> scan(size_t number, File& file);
  Result<std::optional<std::string>> find_locked(const ContentId& id);

  const WritableDirectory* directory_;
  std::mutex mutex_;            ///< guards the members below
  std::vector<uint64_t> ends_;  ///< of the last complete record seen in each pack
  std::unordered_map<ContentId, Place> places_;
  std::unique_ptr<WritableFile> own_;  ///< the pack that this object writes, locked
  size_t own_number_ = 0;
};

}  // namespace galley
