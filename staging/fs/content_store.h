#pragma once

#include <galley/path.h>

#include <memory>
#include <string>
#include <utility>

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

}  // namespace galley
