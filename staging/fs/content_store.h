#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <galley/path.h>
#include "base/content_id.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// Stores staged contents by id: in memory, or as files of a stage directory.
///
/// Threads: safe to share.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  /// Stores these bytes and returns their id; equal bytes are stored once.
  Result<ContentId> put(const Content& content);
  Result<ContentId> put(std::string content) {
    return put(std::make_shared<const std::string>(std::move(content)));
  }
  /// Stores bytes that the caller has just hashed to `id`.
  virtual Result<void> keep(const ContentId& id, const Content& content) = 0;
  /// Errors: kInternal, reason `stage.content_missing`, when the id was never put or was damaged.
  virtual Result<Content> get(const ContentId& id) const = 0;
  /// Takes over a file whose bytes the caller has just hashed to `id` and that no other process can
  /// still write. The file may be gone afterwards: a store on the same disk moves it.
  virtual Result<void> adopt(const ContentId& id, const WritableDirectory& from,
                             const RelPath& name);
};

[[nodiscard]] std::shared_ptr<ContentStore> make_memory_store();

/// Stores contents in packs in `directory`, long ones as files `<hex id>`; they are verified
/// against their id when they are read.
[[nodiscard]] std::shared_ptr<ContentStore> make_disk_store(
    std::shared_ptr<WritableDirectory> directory);

/// A longer content gets its own file.
inline constexpr size_t kMaxPackedBytes = 262'144;
/// At this size the next pack begins.
inline constexpr uint64_t kMaxPackBytes = 67'108'864;
/// Maximum number of packs in one directory, and thus of concurrent writers.
inline constexpr size_t kMaxPacks = 256;
/// Maximum number of contents whose place in a pack is remembered.
inline constexpr size_t kMaxPackedContents = 262'144;

/// Small contents one after the other, in files `pack-<n>` of a directory.
///
/// A new file for each content costs more than the rest of a small edit: the file system searches
/// for a free inode, and longer if many files were deleted recently. A pack grows at its end, and
/// its bytes never change. Each record is `<64 hex digits> <bytes>\n`, the bytes, `\n`. Only the
/// last record can be cut short; the next writer of the pack removes it.
///
/// A writer holds the lock of its pack, so several processes may add to one directory, each to its
/// own pack. Readers need no lock.
///
/// Invariant: every reader finds what keep() has stored, until the directory is removed. Bytes are
///            returned as they are on disk: the caller checks them against their id.
/// Threads:   safe to share.
/// Errors:    those of the directory.
class ContentPacks {
 public:
  /// Borrows the directory.
  explicit ContentPacks(const WritableDirectory& directory) : directory_(&directory) {}

  /// False, with nothing stored, when all packs are in use or kMaxPackedContents are known.
  Result<bool> keep(const ContentId& id, const std::string& content);
  /// Finds a content whose place in a pack is already known.
  Result<std::optional<std::string>> find(const ContentId& id);
  /// As find(), after reading the records that others have added.
  Result<std::optional<std::string>> find_anew(const ContentId& id);

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
