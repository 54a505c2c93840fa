#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "staging/fs/content_store.h"
#include "staging/git/git_objects.h"

namespace galley {

/// The contents of a change between git trees, or between a tree and files. They are read from the
/// repository or the file at each access; only a few are cached. Contents from put() stay in
/// memory.
///
/// Ownership: shares the reader. Threads: safe to share.
class GitBlobStore final : public ContentStore {
 public:
  /// Maximum number of cached bytes of hashed blobs. A validator usually reads them next.
  static constexpr size_t kMaxKeptBytes = size_t{8} << 20U;
  /// Maximum number of cached bytes of files, which other programs may change.
  static constexpr size_t kMaxKeptFileBytes = size_t{64} << 20U;

  /// The content id and size of a blob.
  struct Blob {
    ContentId content;
    uint64_t size = 0;
  };

  explicit GitBlobStore(std::shared_ptr<const GitObjects> objects) : objects_(std::move(objects)) {}

  /// Reads and hashes a blob of the repository. Then get() finds it by its content id.
  /// Errors: those of GitObjects; kQuota `limit.file_size` if the blob has more than `max_bytes`.
  Result<Blob> add(const std::string& blob, uint64_t max_bytes = UINT64_MAX);

  /// A blob that add_each() adds.
  struct Wanted {
    const std::string& blob;
    uint64_t max_bytes;
  };
  /// Adds blobs in order, with fewer exchanges than one add() for each. Returns how many are known
  /// now: add() of the next one says why it failed.
  size_t add_each(std::span<const Wanted> wanted);

  /// Reads the content of a file again.
  using ReadAgain = std::function<Result<std::string>()>;
  /// Stores the content of the file of this name. `content` is null if it is large. Then, and if
  /// the cache is full, get() reads the file again.
  /// Errors of get(): those of `again`; kConflict `check.file_changed` if it has other bytes now.
  void keep_file(const ContentId& id, const Content& content, ReadAgain again, std::string name);

  Result<void> keep(const ContentId& id, const Content& content) override;
  Result<Content> get(const ContentId& id) const override;

 private:
  class Arriving;
  Blob publish(Arriving& arriving);

  std::shared_ptr<const GitObjects> objects_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Blob> blobs_;       ///< by name in the repository
  std::unordered_map<ContentId, std::string> names_;  ///< name of each blob
  std::unordered_map<ContentId, Content> kept_;
  size_t kept_bytes_ = 0;  ///< of blobs, without contents from put() and of files
  struct UnkeptFile {
    ReadAgain again;
    std::string name;
  };
  std::unordered_map<ContentId, UnkeptFile> files_;
  size_t kept_file_bytes_ = 0;
};

}  // namespace galley
