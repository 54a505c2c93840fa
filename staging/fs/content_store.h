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

/// Keeps staged contents by id: in memory, or as files of a stage directory.
///
/// Threads: safe to share.
class ContentStore {
 public:
  virtual ~ContentStore() = default;
  /// Keeps these bytes and returns their id; the same bytes twice are kept once.
  Result<ContentId> put(const Content& content);
  Result<ContentId> put(std::string content) {
    return put(std::make_shared<const std::string>(std::move(content)));
  }
  /// Keeps bytes that the caller has just hashed to `id`.
  virtual Result<void> keep(const ContentId& id, const Content& content) = 0;
  /// Errors: kInternal, reason `stage.content_missing`, when the id was never put or was damaged.
  virtual Result<Content> get(const ContentId& id) const = 0;
  /// Takes over a file whose bytes the caller has just hashed to `id` and that nobody else can
  /// write any more. The file may be gone afterwards: a store on the same disk moves it.
  virtual Result<void> adopt(const ContentId& id, const WritableDirectory& from,
                             const RelPath& name);
};

[[nodiscard]] std::shared_ptr<ContentStore> make_memory_store();

/// Contents in packs of `directory`, long ones as files `<hex id>`; verified against their id when
/// they are read.
[[nodiscard]] std::shared_ptr<ContentStore> make_disk_store(
    std::shared_ptr<WritableDirectory> directory);

/// A longer content is a file of its own.
inline constexpr size_t kMaxPackedBytes = 262'144;
/// Then the next pack is begun.
inline constexpr uint64_t kMaxPackBytes = 67'108'864;
/// So many packs in one directory, and so many writers.
inline constexpr size_t kMaxPacks = 256;
/// So many contents are known by their place in a pack.
inline constexpr size_t kMaxPackedContents = 262'144;

/// Small contents one after the other in files `pack-<n>` of a directory.
///
/// A new file for each content costs more than everything else of a small edit: a file system looks
/// for an inode, and longer the more files were deleted a minute ago. A pack grows at its end and
/// nothing in it is ever changed. Each record is `<64 hex digits> <bytes>\n`, the bytes, `\n`; one
/// that is cut short is the last, and whoever writes to the pack next takes it away.
///
/// Who writes holds the lock of its pack, so that several processes may add to one directory: each
/// to its own pack. Who reads needs none.
///
/// Invariant: what keep() took is found by every reader from then on, until the directory goes.
///            Bytes are handed out as they lie there: the caller checks them against their id.
/// Threads:   safe to share.
/// Errors:    those of the directory.
class ContentPacks {
 public:
  /// Borrows the directory.
  explicit ContentPacks(const WritableDirectory& directory) : directory_(&directory) {}

  /// False where no pack is free, or kMaxPackedContents are known: nothing was kept.
  Result<bool> keep(const ContentId& id, const std::string& content);
  /// What is known to be in a pack.
  Result<std::optional<std::string>> find(const ContentId& id);
  /// The same after a look at what others have added.
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
  std::mutex mutex_;            ///< guards what follows
  std::vector<uint64_t> ends_;  ///< of the last whole record that was seen in each pack
  std::unordered_map<ContentId, Place> places_;
  std::unique_ptr<WritableFile> own_;  ///< the pack that is written to, locked
  size_t own_number_ = 0;
};

}  // namespace galley
